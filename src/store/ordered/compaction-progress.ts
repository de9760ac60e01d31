import type { Key } from "lmdb";
import type { RowWrite } from "../row-write.ts";
import type { LocalStore } from "../store.ts";

/**
 * Progress of a log's compaction, which writes all rows of the store again in the order of their
 * tables and keys. It is a row of the store itself, under these names, so all nodes read it at the
 * same position of the log.
 */
export interface CompactionProgress {
  id: string;
  /** The last row that was written again; absent at the start. */
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
/** Tables of a view that are local to a node: its position, and parts of incomplete sets. */
export const POSITION_TABLE = "order";
export const PARTS_TABLE = "pieces";
const LEFT_OUT = new Set([COMPACTION_TABLE, POSITION_TABLE, PARTS_TABLE]);

/** Number of rows, and their bytes. */
export interface RowsAndBytes {
  rows: number;
  bytes: number;
}

/** Approximate bytes of a row in the log without its value. */
const ROW_BYTES = 64;

/** Rows after a key, up to `max`; `next` is absent when there are no more. */
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

/** Removes the rows after a key up to and including `to`; without `to` all. */
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

/** Tables from a key on, with the range of their rows after the key. */
function* rangesAfter(local: LocalStore, at: RowKey | undefined) {
  for (const table of local.tables()) {
    if (LEFT_OUT.has(table) || (at !== undefined && table < at.table)) continue;
    yield [table, table === at?.table ? { start: at.key, exclusiveStart: true } : {}] as const;
  }
}
