/** Milliseconds to wait after so many failures in a row, from 1: doubled each time, up to `maxMs`. */
export function backoffMs(failures: number, minMs: number, maxMs: number): number {
  // Doubled more often, the number would leave the range of exact integers.
  const doublings = Math.min(Math.max(0, failures - 1), 30);
  return Math.min(minMs * 2 ** doublings, maxMs);
}
