import { BLOCK_RECORDS_MAX } from "../../log/block.ts";

/**
 * Returns the sequence number of the first record in the block at `offset`. The next records of the
 * block count up by one. The number depends only on the offset, because several nodes append blocks
 * and none knows how many records precede its own. Sequence numbers ascend, with gaps between
 * blocks.
 */
export const sequenceOf = (offset: bigint): number => Number(offset) * BLOCK_RECORDS_MAX;

/** Returns the offset of the block that contains the record with this sequence number. */
export const offsetOf = (sequence: number): bigint =>
  BigInt(Math.floor(sequence / BLOCK_RECORDS_MAX));
