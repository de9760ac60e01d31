import type { Table } from "../../store/table.ts";

export type PairKey = [string, string];

/** Sorts after every id: ids are ASCII. */
export const LAST_KEY = "\uffff";

/**
 * The range of keys that start with `first`, after `after`. A new object each time: lmdb writes
 * into it.
 */
export function keyRange(first: string, after = "", limit = Number.MAX_SAFE_INTEGER) {
  const start: PairKey = [first, after];
  const end: PairKey = [first, LAST_KEY];
  return { start, end, exclusiveStart: true, limit };
}

/** The distinct first parts of the keys of an index, with one read each. */
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

/** Sorts before every letter of this time or later: ids are UUIDs of version 7. */
export function firstIdAt(time: number): string {
  const hex = Math.max(0, time).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
