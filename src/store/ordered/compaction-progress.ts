import type { Key } from "lmdb";
import type { RowWrite } from "../row-write.ts";
import type { LocalStore } from "../store.ts";

/**
 * How far the rewriting of a log is: all rows of the store are put again in the order of their
 * tables and keys, so that the entries before the first of these are not needed any more. It is a
 * row of the store itself, which all nodes see at the same place of the log.
 */
export interface CompactionProgress {
  id: string;
  /** The last row that was put again; absent at the begin. */
  at?: RowKey;
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
/** Tables of a view that tell how far it is, and are no part of what nodes share. */
export const POSITION_TABLE = "order";
export const PARTS_TABLE = "pieces";
const LEFT_OUT = new Set([COMPACTION_TABLE, POSITION_TABLE, PARTS_TABLE]);

/** What one change puts again. */
export interface RowsAndBytes {
  rows: number;
  bytes: number;
}

/** What a row takes in the log beside its value, about. */
const ROW_BYTES = 64;

/** Rows after a place, at most a portion; `next` is absent when there are no more. */
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

/** Removes the rows after a place up to another, which is among them; without `to` all. */
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

/** Tables from a place on, with what `getRange` takes for the rows behind the place. */
function* rangesAfter(local: LocalStore, at: RowKey | undefined) {
  for (const table of local.tables()) {
    if (LEFT_OUT.has(table) || (at !== undefined && table < at.table)) continue;
    yield [table, table === at?.table ? { start: at.key, exclusiveStart: true } : {}] as const;
  }
}
