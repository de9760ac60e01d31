import type { Table } from "../../store/table.ts";

export type PairKey = [string, string];

/** Text that sorts after every id, because ids are ASCII text. */
export const LAST_KEY = "\uffff";

/**
 * Returns a range of at most `limit` keys of a table: those whose first part is `first` and whose
 * second part is above `after`. Each call returns a new object, because the lmdb library modifies
 * it.
 */
export function keyRange(first: string, after = "", limit = Number.MAX_SAFE_INTEGER) {
  const start: PairKey = [first, after];
  const end: PairKey = [first, LAST_KEY];
  return { start, end, exclusiveStart: true, limit };
}

/** Returns the first parts of a table's keys, without duplicates. Reads one key per first part. */
export function firstKeys(index: Table<unknown, PairKey>): Set<string> {
  const firsts = new Set<string>();
  let start: PairKey = ["", ""];
  for (;;) {
    const [key] = [...index.getKeys({ start, limit: 1 })];
    if (key === undefined) return firsts;
    firsts.add(key[0]);
    start = [key[0], LAST_KEY];
  }
}

/**
 * Returns a text that sorts after the ids of all dead letters created before `time` (milliseconds
 * since the epoch), and before all other ids. Ids begin with the creation time (UUID version 7).
 */
export function firstIdAt(time: number): string {
  const hex = Math.max(0, Math.ceil(time)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
