import { BLOCK_RECORDS_MAX } from "../../log/block.ts";

/**
 * A record's sequence number in a partition: the offset of its block, and its place within. Blocks
 * come from several nodes, none of which knows how many records came before; the partition's
 * offsets are the one count that all agree on. Numbers ascend and are not dense.
 */
export const sequenceOf = (offset: bigint): number => Number(offset) * BLOCK_RECORDS_MAX;

/** Offset of the block that holds a sequence number. */
export const offsetOf = (sequence: number): bigint =>
  BigInt(Math.floor(sequence / BLOCK_RECORDS_MAX));
