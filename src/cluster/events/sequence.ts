import { BLOCK_RECORDS_MAX } from "../../log/block.ts";

/**
 * Sequence number of the first record of a block. The others follow by one. Several nodes append
 * blocks, and none knows the number of records before its own, so the number is computed from the
 * block's offset. Sequence numbers ascend, with gaps between blocks.
 */
export const sequenceOf = (offset: bigint): number => Number(offset) * BLOCK_RECORDS_MAX;

/** Offset of the block that holds the record with this sequence number. */
export const offsetOf = (sequence: number): bigint =>
  BigInt(Math.floor(sequence / BLOCK_RECORDS_MAX));
