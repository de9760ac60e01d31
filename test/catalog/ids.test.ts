import { expect, test } from "bun:test";
import { isId, newId, timeOf } from "../../src/catalog/ids.ts";

/** A time after that of every id: a file before in this process may have set the clock ahead. */
const afterAllIds = () => timeOf(newId(Date.now())) + 10_000;

test("ids are 27 letters or digits", () => {
  const id = newId();
  expect(id).toMatch(/^[0-9A-Za-z]{27}$/);
  expect(isId(id)).toBe(true);
});

test("ids of one process ascend, within a millisecond and when the clock steps back", () => {
  const now = afterAllIds();
  const ids = [now, now, now - 5_000, now - 5_000, now + 1].map((at) => newId(at));
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});

test("an id has the time at which it was made", () => {
  const base = afterAllIds();
  for (const at of [base, base + 1, base + 86_400_000]) expect(timeOf(newId(at))).toBe(at);
});

test("a later millisecond sorts after an earlier one, whatever the random part", () => {
  const base = afterAllIds();
  const ids = Array.from({ length: 1_000 }, (_, step) => newId(base + step));
  expect(ids.toSorted()).toEqual(ids);
});

test("texts of another form are not accepted as ids", () => {
  const others = [
    "",
    "x",
    `${newId()}0`,
    newId().replace(/.$/, "-"),
    "é".repeat(27),
    "a".repeat(5_000),
  ];
  expect(others.filter(isId)).toEqual([]);
});
