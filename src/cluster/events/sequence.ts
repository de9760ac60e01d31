import { BLOCK_RECORDS_MAX } from "../../log/block.ts";

/**
 * Returns the sequence number of the first record in the block at `offset`; the block's further
 * records have the next numbers. Each block reserves `BLOCK_RECORDS_MAX` numbers, so there are gaps
 * between the numbers of two blocks. The number depends on the offset alone, because several nodes
 * append blocks and none knows how many records come before its own blocks.
 */
export const sequenceOf = (offset: bigint): number => Number(offset) * BLOCK_RECORDS_MAX;

/** Returns the offset of the block that contains the record with this sequence number. */
export const offsetOf = (sequence: number): bigint =>
  BigInt(Math.floor(sequence / BLOCK_RECORDS_MAX));
