/**
 * Maximum edit distance between a misspelt name and the suggested name. The distance must also be
 * less than half of the suggested name's length.
 */
const LETTERS_OFF_MAX = 2;

/**
 * Returns the known name that a misspelt name probably means, ignoring case. Returns undefined when
 * no known name is similar.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const off = known.map((it) => ({ it, letters: distance(name.toLowerCase(), it.toLowerCase()) }));
  const [nearest] = off.sort((a, b) => a.letters - b.letters);
  if (nearest === undefined || nearest.letters > LETTERS_OFF_MAX) return undefined;
  return nearest.letters * 2 < nearest.it.length ? nearest.it : undefined;
}

/**
 * Returns the number of edits that turn one string into the other: letters added, removed,
 * replaced, or swapped with their neighbour (optimal string alignment). Returns Infinity for
 * strings whose lengths differ by more than LETTERS_OFF_MAX.
 */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > LETTERS_OFF_MAX) return Infinity;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const now = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      now[column] = Math.min(
        (last[column] ?? 0) + 1,
        (now[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (beforeLast[column - 2] ?? 0) + 1 : Infinity,
      );
    }
    [beforeLast, last] = [last, now];
  }
  return last[b.length] ?? 0;
}
