import { expect, test } from "bun:test";
import { partitionOf } from "../../src/destinations/kafka/partition.ts";

/** Hashes that the tests of Kafka's Java client give. */
test.each([
  ["21", -973_932_308],
  ["foobar", -790_332_482],
  ["a-little-bit-long-string", -985_981_536],
  ["a-little-bit-longer-string", -1_486_304_829],
  ["lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971],
  ["abc", 479_470_107],
])("the key %s is in the partition of Kafka's Java client", (key, hash) => {
  for (const count of [1, 2, 7, 50, 2 ** 31]) {
    expect(partitionOf(Buffer.from(key), count)).toBe((hash & 0x7fff_ffff) % count);
  }
});
