/** Largest number of partitions or brokers that one sentence names. */
const NAMED_MAX = 12;

/** Lists numbers as text, ascending. Counts those beyond the first `NAMED_MAX`. */
export function nameNumbers(numbers: readonly number[]): string {
  const named = numbers.toSorted((a, b) => a - b).slice(0, NAMED_MAX);
  const more = numbers.length - named.length;
  return named.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
