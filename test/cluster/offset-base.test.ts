import { expect, test } from "bun:test";
import { InvariantError } from "../../src/assert.ts";
import { reliableTopicEnd } from "../../src/backend/partition-pipelines.ts";
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

const stored = { topic: "a", base: 0 };

/** A partition with 9 blocks, whose leader answers `told`; 7 blocks were read before. */
async function baseOf(told: number, proven: number) {
  let proofs = 0;
  const ask = async () => ({ topic: "a", end: told, known: 7 });
  const prove = async () => {
    proofs += 1;
    return proven;
  };
  const end = await reliableTopicEnd(stored, ask, prove);
  return { ...nextOffsetBase(stored, end), proofs };
}

test("an old end that a replaced leader answers moves no offset base", async () => {
  expect(await baseOf(2, 9)).toEqual({ base: stored, proofs: 1 });
});

test("a partition that has lost its end moves its offset base once the leader has proved the end", async () => {
  const loss = { how: "has lost its end", blocks: 5 };
  expect(await baseOf(2, 2)).toEqual({ base: { topic: "a", base: 5 }, loss, proofs: 1 });
});

test("the end of a partition that has lost nothing is not proved", async () => {
  expect(await baseOf(9, 9)).toEqual({ base: stored, proofs: 0 });
});

test("a partition is not used while its leader cannot prove that blocks are lost", async () => {
  const ask = async () => ({ topic: "a", end: 2, known: 7 });
  const prove = () => Promise.reject(new Error("Not acknowledged"));
  await expect(reliableTopicEnd(stored, ask, prove)).rejects.toThrow("Not acknowledged");
});
