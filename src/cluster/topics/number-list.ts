/** Largest number of partitions or brokers that one sentence names. */
const NAMED_MAX = 12;

/** Returns the `NAMED_MAX` lowest numbers as text, ascending, and how many more there are. */
export function nameNumbers(numbers: readonly number[]): string {
  const named = numbers.toSorted((a, b) => a - b).slice(0, NAMED_MAX);
  const more = numbers.length - named.length;
  return named.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
