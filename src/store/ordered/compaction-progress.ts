import type { Key } from "lmdb";
import type { RowWrite } from "../row-write.ts";
import type { LocalStore } from "../store.ts";

/** A number of rows together with their size in bytes. */
export interface RowsAndBytes {
  rows: number;
  bytes: number;
}

/**
 * Progress of a compaction, which appends all rows of the store to the log again. `rows` and
 * `bytes` count what is appended so far. The field names must not change, because they are stored
 * in a row.
 */
export interface CompactionProgress extends RowsAndBytes {
  id: string;
  /**
   * Key of the last row that the compaction has appended to the log. Absent before the first row,
   * and when the compaction has ended.
   */
  at?: RowKey;
  isDone: boolean;
}

export type RowKey = Omit<RowWrite, "value">;

export const COMPACTION_TABLE = "rewriting";
export const COMPACTION_KEY = "walk";
/**
 * Name of the table in which a node stores its log position; `PARTS_TABLE` has the parts of change
 * sets that were not read completely yet. Both tables are local: their changes are not in the log.
 */
export const POSITION_TABLE = "order";
export const PARTS_TABLE = "pieces";
const LEFT_OUT = new Set([COMPACTION_TABLE, POSITION_TABLE, PARTS_TABLE]);

/** Approximate size in bytes of a row's table name and key in the log. */
const ROW_BYTES = 64;

/**
 * Reads the rows after row `at`, in the order of table and key, up to `max.rows` rows or about
 * `max.bytes` bytes. If the read ended at this bound, `next` is the last row's key, for the next
 * call; otherwise no rows remain.
 */
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

/**
 * Removes all rows after row `at`, up to and including row `to`, in the order of table and key.
 * Without `to`, removes all rows after `at`.
 */
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

/**
 * Yields the tables that can have rows after the row `at`, in the order of their names. With each
 * table, yields the range of its keys that come after `at`.
 */
function* rangesAfter(local: LocalStore, at: RowKey | undefined) {
  for (const table of local.tables()) {
    if (LEFT_OUT.has(table) || (at !== undefined && table < at.table)) continue;
    yield [table, table === at?.table ? { start: at.key, exclusiveStart: true } : {}] as const;
  }
}
