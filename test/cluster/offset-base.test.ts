import { expect, test } from "bun:test";
import { InvariantError } from "../../src/assert.ts";
import { nextOffsetBase, OffsetBases } from "../../src/cluster/topics/offset-base.ts";

const JUMP = 2 ** 30;
const recreated = { how: "was recreated", blocks: 1 };

test.each([
  ["it has no stored base", undefined, { topic: "a", end: 5, known: 5 }, { base: [0] }],
  ["it has grown", ["a", 0], { topic: "a", end: 9, known: 5 }, { base: [0] }],
  [
    "it has a base above 0 and has grown",
    ["a", 100],
    { topic: "a", end: 9, known: 109 },
    { base: [100] },
  ],
  [
    "it has lost its end",
    ["a", 100],
    { topic: "a", end: 2, known: 109 },
    { base: [107], loss: { how: "has lost its end", blocks: 7 } },
  ],
  [
    "its topic was recreated",
    ["a", 0],
    { topic: "b", end: 9, known: 5 },
    { base: [JUMP], loss: recreated },
  ],
  [
    "its topic was recreated twice before anything was read",
    ["b", JUMP],
    { topic: "c", end: 0, known: 5 },
    { base: [2 * JUMP], loss: recreated },
  ],
  [
    "it has no stored base and ends before what was read",
    undefined,
    { topic: "a", end: 2, known: 5 },
    { base: [JUMP], loss: recreated },
  ],
] as const)(
  "the next offset base of a partition is computed when %s",
  (_, before, found, { base: [next], ...loss }) => {
    const [topic, base] = before ?? [];
    const was = topic === undefined ? undefined : { topic, base: base! };
    expect(nextOffsetBase(was, found)).toEqual({
      base: { topic: found.topic, base: next },
      ...loss,
    });
  },
);

test("a partition without an offset base has the brokers' offsets, for any topic", () => {
  const bases = new OffsetBases();
  bases.set(1, { topic: "a", base: 7 });
  expect([0, 1].map((it) => bases.base(it))).toEqual([0n, 7n]);
  expect([0, 1].map((it) => bases.isOfTopic(it, "b"))).toEqual([true, false]);
});

test("an offset base that decreases is a broken invariant", () => {
  const bases = new OffsetBases();
  bases.set(0, { topic: "a", base: 7 });
  bases.set(0, { topic: "a", base: 7 });
  expect(() => bases.set(0, { topic: "a", base: 6 })).toThrow(InvariantError);
});
