import type { Key } from "lmdb";
import { Packr } from "msgpackr";

/** Write of one row; without a value it removes the row. */
export interface RowWrite {
  table: string;
  key: Key;
  /** The encoded value, so later changes of the object have no effect. */
  value?: Uint8Array;
}

/** Result of running changes without committing them. */
export interface DryRun {
  outcomes: PromiseSettledResult<unknown>[];
  /** The last write of each row by the changes that succeeded. */
  writes: RowWrite[];
}

// Encodes as the tables of a store do, see `openEnvironment`.
export const packr = new Packr({ useRecords: false, useToJSON: false });

export const encodeValue = (value: unknown): Uint8Array => packr.encode(value);
export const decodeValue = (value: Uint8Array): unknown => packr.decode(value);

/** A write with its value encoded; `value` is empty for a removal. */
export function encodeWrite(table: string, key: Key, value: readonly unknown[]): RowWrite {
  return value.length === 0 ? { table, key } : { table, key, value: encodeValue(value[0]) };
}

/** The last write of each row: one change may write a counter many times. */
export function lastWrites(writes: readonly RowWrite[]): RowWrite[] {
  const last = new Map<string, RowWrite>();
  for (const write of writes) last.set(`${write.table} ${JSON.stringify(write.key)}`, write);
  return [...last.values()];
}
