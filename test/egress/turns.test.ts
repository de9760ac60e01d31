import { expect, test } from "bun:test";
import { Turns } from "../../src/egress/turns.ts";

const { signal } = new AbortController();
const taken = (turns: Turns, owner: string) => {
  let count = 0;
  while (turns.tryTake(owner)) count += 1;
  return count;
};

test("one owner gets half of the places, the next a part of the rest, and some are left", () => {
  const turns = new Turns(100);
  expect(taken(turns, "a")).toBe(50);
  expect(taken(turns, "b")).toBe(25);
  for (const owner of ["c", "d", "e"]) expect(taken(turns, owner)).toBeGreaterThan(0);
});

test("owners that wait take turns, each in the order in which it came", async () => {
  const turns = new Turns(2);
  const order: string[] = [];
  const take = (owner: string, name: string) =>
    turns.take(owner, signal).then(() => void order.push(name));
  await turns.take("a", signal);
  const waiting = [take("a", "a1"), take("a", "a2"), take("b", "b1"), take("c", "c1")];
  for (const owner of ["a", "b", "a", "c"]) {
    await Bun.sleep(0);
    turns.leave(owner);
  }
  await Promise.all(waiting);
  expect(order.toSorted()).toEqual(["a1", "a2", "b1", "c1"]);
  expect(order.indexOf("a1")).toBeLessThan(order.indexOf("a2"));
  expect(order.indexOf("b1")).toBeLessThan(order.indexOf("a2"));
});

test("who gives up does not get a place, and nobody behind is held up", async () => {
  const turns = new Turns(1);
  await turns.take("a", signal);
  const impatient = new AbortController();
  const gone = turns.take("b", impatient.signal).catch(() => "gone");
  const next = turns.take("c", signal).then(() => "next");
  impatient.abort();
  expect(await gone).toBe("gone");
  turns.leave("a");
  expect(await next).toBe("next");
  turns.leave("c");
  expect(taken(turns, "d")).toBe(1);
});

test("who gives up just when it got a place has it", async () => {
  const turns = new Turns(1);
  turns.tryTake("a");
  const late = new AbortController();
  const taking = turns.take("b", late.signal);
  turns.leave("a");
  late.abort(new Error("late"));
  await taking;
  expect(taken(turns, "c")).toBe(0);
  turns.leave("b");
  expect(taken(turns, "c")).toBe(1);
});

test("who has given up before does not wait", async () => {
  const turns = new Turns(1);
  turns.tryTake("a");
  await expect(turns.take("b", AbortSignal.abort(new Error("before")))).rejects.toThrow("before");
});
