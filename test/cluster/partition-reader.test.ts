import { expect, test } from "bun:test";
import { PartitionReader } from "../../src/cluster/events/partition-reader.ts";
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
