import { expect, test } from "bun:test";
import { BlockRecordCounts } from "../../src/cluster/events/block-record-counts.ts";
import { sequenceOf } from "../../src/cluster/events/sequence.ts";

/** A place within a block. */
const at = (offset: number, record = 0) => sequenceOf(BigInt(offset)) + record;

test("records between two positions are counted from the blocks that were seen", () => {
  const counts = new BlockRecordCounts();
  for (const [offset, records] of [3, 0, 5, 8_192].entries()) counts.add(offset, records);
  expect(counts.estimateBetween(at(0), at(4))).toBe(8_200);
  expect(counts.estimateBetween(at(0, 1), at(2, 2))).toBe(4);
  expect(counts.estimateBetween(at(0, 3), at(2))).toBe(0);
  expect(counts.estimateBetween(at(2, 1), at(2, 4))).toBe(3);
  expect(counts.estimateBetween(at(3), at(3))).toBe(0);
  expect(counts.estimateBetween(at(3), at(1))).toBe(0);
});

test("a block that was not seen is assumed to hold as many records as the others", () => {
  const counts = new BlockRecordCounts();
  expect(counts.estimateBetween(at(0), at(7))).toBe(7);
  for (let offset = 0; offset < 5_000; offset++) counts.add(offset, 4);
  expect(counts.estimateBetween(at(0), at(10))).toBe(40);
  expect(counts.estimateBetween(at(0), at(5_000))).toBe(20_000);
  expect(counts.estimateBetween(at(4_999), at(5_002))).toBe(12);
});
