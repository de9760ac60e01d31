import type { Key } from "lmdb";
import type { RowWrite } from "../row-write.ts";
import type { LocalStore } from "../store.ts";

/**
 * Progress of a log's compaction, which appends all rows of the store to the log again, in the
 * order of tables and keys. It is stored as a row of the store, with these field names.
 */
export interface CompactionProgress {
  id: string;
  /** The last row that was written again; absent at the start. */
  at?: RowKey;
  /** Number of rows that were written again so far. */
  rows: number;
  bytes: number;
  isDone: boolean;
}

export interface RowKey {
  table: string;
  key: Key;
}

export const COMPACTION_TABLE = "rewriting";
export const COMPACTION_KEY = "walk";
/** Tables that are not shared: the position of the view, and parts of incomplete change sets. */
export const POSITION_TABLE = "order";
export const PARTS_TABLE = "pieces";
const LEFT_OUT = new Set([COMPACTION_TABLE, POSITION_TABLE, PARTS_TABLE]);

/** Number of rows and their size in bytes. */
export interface RowsAndBytes {
  rows: number;
  bytes: number;
}

/** Approximate size in the log, in bytes, of a row's table name and key. */
const ROW_BYTES = 64;

/** Reads the rows after `at`, up to `max`. `next` is the last row read, absent at the end. */
export function rowsAfter(local: LocalStore, at: RowKey | undefined, max: RowsAndBytes) {
  const writes: RowWrite[] = [];
  let bytes = 0;
  for (const [table, range] of rangesAfter(local, at)) {
    for (const { key, value } of local.rows(table, range)) {
      writes.push({ table, key, value });
      bytes += value.length + ROW_BYTES;
      if (writes.length >= max.rows || bytes >= max.bytes) {
        return { writes, bytes, next: { table, key } };
      }
    }
  }
  return { writes, bytes };
}

/** Removes all rows after `at`, up to and including `to` if it is given. */
export function removeRowsBetween(
  local: LocalStore,
  at: RowKey | undefined,
  to: RowKey | undefined,
): void {
  for (const [table, start] of rangesAfter(local, at)) {
    if (to !== undefined && table > to.table) return;
    const end = table === to?.table ? { end: to.key, inclusiveEnd: true } : {};
    const gone = [...local.table<unknown, Key>(table).getKeys({ ...start, ...end })];
    for (const key of gone) local.write({ table, key });
  }
}

/** Iterates over the tables that have rows after `at`, with the range of these rows. */
function* rangesAfter(local: LocalStore, at: RowKey | undefined) {
  for (const table of local.tables()) {
    if (LEFT_OUT.has(table) || (at !== undefined && table < at.table)) continue;
    yield [table, table === at?.table ? { start: at.key, exclusiveStart: true } : {}] as const;
  }
}
