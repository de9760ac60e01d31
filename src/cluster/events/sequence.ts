import { BLOCK_RECORDS_MAX } from "../../log/block.ts";

/**
 * Returns the sequence number of the first record in the block at `offset`. Each block reserves
 * `BLOCK_RECORDS_MAX` numbers, because no node knows how many records the blocks of other nodes
 * have.
 */
export const sequenceOf = (offset: bigint): number => Number(offset) * BLOCK_RECORDS_MAX;

/** Returns the offset of the block that contains the record with this sequence number. */
export const offsetOf = (sequence: number): bigint =>
  BigInt(Math.floor(sequence / BLOCK_RECORDS_MAX));
