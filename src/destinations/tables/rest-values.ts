import { cleanText } from "./column-values.ts";

/**
 * Values of an event that have no column of their own. They are written to the column `rest__json`.
 * The key of a value is its path in the event (see `KeyPath`).
 */
export type RestValues = Record<string, unknown>;

/** For values of one event: path → the number that was added to this path last. */
const lastNumbers = new WeakMap<RestValues, Map<string, number>>();

/**
 * Adds a value to the values without a column. Different keys may give the same path, for example
 * `a_b` and `b` within `a`, or keys that differ only in characters that cannot be stored. If the
 * path is taken, a number is added to it, as in `a_b__2`.
 */
export function putRest(rest: RestValues, path: string, value: unknown): void {
  const clean = cleanText(path);
  let free = clean;
  if (rest[clean] !== undefined) {
    const numbers = lastNumbers.getOrInsertComputed(rest, () => new Map());
    let number = numbers.get(clean) ?? 1;
    while (rest[free] !== undefined) free = `${clean}__${++number}`;
    numbers.set(clean, number);
  }
  rest[free] = value;
}
