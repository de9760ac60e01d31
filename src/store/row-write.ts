import type { Key } from "lmdb";
import { Packr } from "msgpackr";

/** Write of one row of a table. A write without a value removes the row. */
export interface RowWrite {
  table: string;
  key: Key;
  /** Value of the row, encoded as MessagePack. Absent when the write removes the row. */
  value?: Uint8Array;
}

/** Result of `dryRun`, which runs functions as transactions without committing them. */
export interface DryRun {
  /** Return value or error of each function, in the order of the functions. */
  outcomes: PromiseSettledResult<unknown>[];
  /**
   * Writes of the functions passed to `dryRun`, without those of functions that threw. If a row is
   * written several times, only the last of these writes is listed.
   */
  writes: RowWrite[];
}

// The options must equal those of the encoder in `openEnvironment`.
export const packr = new Packr({ useRecords: false, useToJSON: false });

export const encodeValue = (value: unknown): Uint8Array => packr.encode(value);
export const decodeValue = (value: Uint8Array): unknown => packr.decode(value);

/**
 * Creates a `RowWrite`. If the list `value` has an element, the write stores this element in the
 * row. If the list is empty, the write removes the row.
 */
export function encodeWrite(table: string, key: Key, value: readonly unknown[]): RowWrite {
  return value.length === 0 ? { table, key } : { table, key, value: encodeValue(value[0]) };
}

/** Returns the last write to each row, without the earlier writes to the same row. */
export function lastWrites(writes: readonly RowWrite[]): RowWrite[] {
  const last = new Map<string, RowWrite>();
  for (const write of writes) last.set(`${write.table} ${JSON.stringify(write.key)}`, write);
  return [...last.values()];
}
