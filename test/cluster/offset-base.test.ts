import { expect, test } from "bun:test";
import { nextOffsetBase, OffsetBases } from "../../src/cluster/topics/offset-base.ts";

const JUMP = 2 ** 30;
const madeAnew = { how: "was made anew", blocks: 1 };

test.each([
  ["nothing is known of it", undefined, { topic: "a", end: 5, known: 5 }, { place: [0] }],
  ["it is where it was", ["a", 0], { topic: "a", end: 9, known: 5 }, { place: [0] }],
  ["it was moved before", ["a", 100], { topic: "a", end: 9, known: 109 }, { place: [100] }],
  [
    "it has lost its end",
    ["a", 100],
    { topic: "a", end: 2, known: 109 },
    { place: [107], lost: { how: "has lost its end", blocks: 7 } },
  ],
  [
    "it was made anew",
    ["a", 0],
    { topic: "b", end: 9, known: 5 },
    { place: [JUMP], lost: madeAnew },
  ],
  [
    "it was made anew a second time, before anything was read",
    ["b", JUMP],
    { topic: "c", end: 0, known: 5 },
    { place: [2 * JUMP], lost: madeAnew },
  ],
  [
    "it is shorter than what is known, and nobody knows which one was read",
    undefined,
    { topic: "a", end: 2, known: 5 },
    { place: [JUMP], lost: madeAnew },
  ],
] as const)("a partition is placed when %s", (_, before, found, { place, ...lost }) => {
  const [topic, base] = before ?? [];
  const was = topic === undefined ? undefined : { topic, base: base! };
  expect(nextOffsetBase(was, found)).toEqual({
    place: { topic: found.topic, base: place[0] },
    ...lost,
  });
});

test("partitions that nothing is known of are counted as the brokers count, of any topic", () => {
  const placement = new OffsetBases();
  placement.set(1, { topic: "a", base: 7 });
  expect([0, 1].map((it) => placement.base(it))).toEqual([0n, 7n]);
  expect([0, 1].map((it) => placement.isOfTopic(it, "b"))).toEqual([true, false]);
});
