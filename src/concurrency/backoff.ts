/**
 * Returns the milliseconds to wait before the next attempt after `failures` failures in a row. The
 * delay begins at `minMs`, doubles with each failure, and is at most `maxMs`.
 */
export function backoffMs(failures: number, minMs: number, maxMs: number): number {
  // More doublings would exceed the range of exact integers.
  const doublings = Math.min(Math.max(0, failures - 1), 30);
  return Math.min(minMs * 2 ** doublings, maxMs);
}
