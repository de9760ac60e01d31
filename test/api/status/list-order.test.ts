import { expect, test } from "bun:test";
import { sortRows } from "../../../src/api/request/list-query.ts";
import { destinationKeys, sourceKeys } from "../../../src/api/routes/status/status-lists.ts";
import {
  busiestFirst,
  type DestinationState,
  type SourceState,
  urgentDestinationFirst,
} from "../../../src/api/routes/status/workspace-state.ts";

const namesOf = (rows: readonly { name: string }[]) => rows.map(({ name }) => name).join("");

test("sources are sorted by rate, the highest first, and by name at equal rates", () => {
  const source = (name: string, receivedPerSecond: number) =>
    ({ name, receivedPerSecond }) as SourceState;
  const rows = [source("b", 1), source("c", 2), source("a", 1), source("d", 0)];
  expect(namesOf(rows.sort(busiestFirst))).toBe("cabd");
});

const rates = { received: 0, delivered: 0, dropped: 0, failed: 0 };
const destination = (name: string, fields: object) =>
  ({
    ...{ name, type: "webhook", state: "ok", rates, lagEvents: 0, deadLetters: 0 },
    ...fields,
  }) as unknown as DestinationState;

test("destinations are sorted by state, then by the age of the failure, then by rates and name", () => {
  const rows = [
    destination("h", {}),
    destination("g", {}),
    destination("f", { rates: { ...rates, received: 1 } }),
    destination("e", { rates: { ...rates, received: 2 } }),
    destination("d", { rates: { ...rates, failed: 1 } }),
    destination("c", { state: "failing", since: "2026-01-02" }),
    destination("b", { state: "failing", since: "2026-01-01" }),
    destination("a", { state: "down", since: "2026-01-03" }),
  ];
  expect(namesOf(rows.toSorted(urgentDestinationFirst))).toBe("abcdefgh");
  expect(namesOf(rows.toReversed().sort(urgentDestinationFirst))).toBe("abcdefgh");
});

test.each(Object.keys(destinationKeys))("destinations are sorted by %s", (sort) => {
  const [low, high] = [
    destination("a", { type: "file", rates: { ...rates, failed: 9 } }),
    destination("b", { rates: { ...rates, delivered: 1 }, lagEvents: 1, deadLetters: 1 }),
  ];
  for (const rows of [
    [low, high],
    [high, low],
  ]) {
    sortRows(rows, sort, destinationKeys);
    expect(namesOf(rows)).toBe("ab");
    sortRows(rows, `-${sort}`, destinationKeys);
    expect(namesOf(rows)).toBe("ba");
  }
});

test.each(Object.keys(sourceKeys))("sources are sorted by %s", (sort) => {
  const rows = [
    { name: "b", receivedPerSecond: 2 },
    { name: "a", receivedPerSecond: 1 },
  ] as SourceState[];
  sortRows(rows, sort, sourceKeys);
  expect(namesOf(rows)).toBe("ab");
});
