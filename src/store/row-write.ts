import type { Key } from "lmdb";
import { Packr } from "msgpackr";

/** One write of a change; without a value the key is removed. */
export interface RowWrite {
  table: string;
  key: Key;
  /** As a table stores it: what the writer does with the object later changes nothing. */
  value?: Uint8Array;
}

/** What changes would do. */
export interface DryRun {
  outcomes: PromiseSettledResult<unknown>[];
  /** What those that worked wrote, as it is at the end of all. */
  writes: RowWrite[];
}

// As the tables of a store encode, see `openEnvironment`.
export const packr = new Packr({ useRecords: false, useToJSON: false });

export const encodeValue = (value: unknown): Uint8Array => packr.encode(value);
export const decodeValue = (value: Uint8Array): unknown => packr.decode(value);

/** A write as it goes to other nodes; a removal comes without a value. */
export function encodeWrite(table: string, key: Key, value: readonly unknown[]): RowWrite {
  return value.length === 0 ? { table, key } : { table, key, value: encodeValue(value[0]) };
}

/** The last write of each row: counts and the like are written again and again in one change. */
export function lastWrites(writes: readonly RowWrite[]): RowWrite[] {
  const last = new Map<string, RowWrite>();
  for (const write of writes) last.set(`${write.table} ${JSON.stringify(write.key)}`, write);
  return [...last.values()];
}
