/** Largest number of partitions or brokers that one sentence names. */
const NAMED_MAX = 12;

/** Lists numbers as text, ascending. Beyond the first `NAMED_MAX`, gives only the count. */
export function nameNumbers(numbers: readonly number[]): string {
  const named = numbers.toSorted((a, b) => a - b).slice(0, NAMED_MAX);
  const more = numbers.length - named.length;
  return named.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
