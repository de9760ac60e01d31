import type { Table } from "../../store/table.ts";

export type PairKey = [string, string];

/** Text that sorts after every id, because ids are ASCII. */
export const LAST_KEY = "\uffff";

/**
 * Range of the two-part keys whose first part is `first` and whose second part sorts after `after`.
 * Returns a new object at each call, because the library lmdb modifies it.
 */
export function keyRange(first: string, after = "", limit = Number.MAX_SAFE_INTEGER) {
  const start: PairKey = [first, after];
  const end: PairKey = [first, LAST_KEY];
  return { start, end, exclusiveStart: true, limit };
}

/**
 * Returns the distinct first parts of a table's two-part keys. Does one read for each first part.
 */
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
 * Returns a string that separates ids of dead letters by time. It sorts before the id of every
 * letter created at `time` or later, and after the ids of letters created earlier. Ids are UUIDs of
 * version 7, which begin with the creation time. `time` is in milliseconds since the epoch.
 */
export function firstIdAt(time: number): string {
  const hex = Math.max(0, Math.ceil(time)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
