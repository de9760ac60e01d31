import { expect, test } from "bun:test";
import { PartitionReader } from "../../src/cluster/events/partition-reader.ts";
import { sequenceOf } from "../../src/cluster/events/sequence.ts";
import type { Fetcher } from "../../src/cluster/topics/fetcher.ts";
import type { LossReport } from "../../src/log/loss-report.ts";

test("a partition reader that gets blocks in a descending order breaks an invariant", () => {
  const losses = { damaged() {}, missing() {}, forget() {} };
  const reader = new PartitionReader({
    name: "k0",
    partition: 0,
    fetcher: {} as Fetcher,
    losses: losses as unknown as LossReport,
    first: 0n,
    trim: async () => {},
  });
  const value = Buffer.alloc(1);
  const fetched = (offsets: bigint[]) => ({
    values: offsets.map((offset) => ({ offset, value })),
    first: 0n,
    end: 9n,
    isOutOfRange: false,
  });
  expect(() => reader.addFetched(fetched([3n, 4n]))).not.toThrow();
  expect(() => reader.addFetched(fetched([6n, 5n]))).toThrow(
    "Broken invariant: Block offsets of a partition ascend",
  );
});

test.each([
  [undefined, []],
  [0n, [[{ from: 0, to: sequenceOf(5n) }, 5]]],
])(
  "a reader opened when the first block was %p reports as lost what it knew to be there",
  async (first, lost) => {
    const missing: unknown[] = [];
    const losses = {
      missing: (_: string, range: object, blocks: number) => missing.push([range, blocks]),
    };
    const fetched = { values: [], first: 5n, end: 5n, isOutOfRange: true };
    const reader = new PartitionReader({
      name: "k0",
      partition: 0,
      fetcher: { fetch: async () => fetched } as unknown as Fetcher,
      losses: losses as unknown as LossReport,
      first,
      trim: async () => {},
    });
    reader.setOwned(true);
    reader.advance(sequenceOf(5n));
    expect(await reader.read(0, 1)).toEqual({ records: [], next: sequenceOf(5n) });
    expect(missing).toEqual(lost);
    expect(reader.first()).toBe(sequenceOf(5n));
  },
);
