import type { Key } from "lmdb";
import { Packr } from "msgpackr";

/** Write of one row. A write without a value removes the row. */
export interface RowWrite {
  table: string;
  key: Key;
  /** Value encoded as MessagePack; absent for a removal. */
  value?: Uint8Array;
}

/** Result of `dryRun`, which runs changes without committing them. */
export interface DryRun {
  /** Return value or error of each change, in order. */
  outcomes: PromiseSettledResult<unknown>[];
  /** Writes by the changes that did not throw; only the last write of each row. */
  writes: RowWrite[];
}

// The options must equal those of the encoder in `openEnvironment`.
export const packr = new Packr({ useRecords: false, useToJSON: false });

export const encodeValue = (value: unknown): Uint8Array => packr.encode(value);
export const decodeValue = (value: Uint8Array): unknown => packr.decode(value);

/** Creates a write of `value[0]`, which it encodes. An empty `value` creates a removal. */
export function encodeWrite(table: string, key: Key, value: readonly unknown[]): RowWrite {
  return value.length === 0 ? { table, key } : { table, key, value: encodeValue(value[0]) };
}

/** Keeps only the last of several writes to the same row. */
export function lastWrites(writes: readonly RowWrite[]): RowWrite[] {
  const last = new Map<string, RowWrite>();
  for (const write of writes) last.set(`${write.table} ${JSON.stringify(write.key)}`, write);
  return [...last.values()];
}
