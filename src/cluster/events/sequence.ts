import { BLOCK_RECORDS_MAX } from "../../log/block.ts";

/**
 * Returns the sequence number of the first record in the block at `offset`. Each further record of
 * the block has the next number. Several nodes append blocks, and none knows how many records come
 * before its own, so the number is computed from the offset alone. Sequence numbers ascend, with
 * gaps between blocks.
 */
export const sequenceOf = (offset: bigint): number => Number(offset) * BLOCK_RECORDS_MAX;

/** Returns the offset of the block that contains the record with this sequence number. */
export const offsetOf = (sequence: number): bigint =>
  BigInt(Math.floor(sequence / BLOCK_RECORDS_MAX));
