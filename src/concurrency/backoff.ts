/** Milliseconds to wait after `failures` failures in a row: doubles from `minMs` up to `maxMs`. */
export function backoffMs(failures: number, minMs: number, maxMs: number): number {
  // More doublings would leave the range of exact integers.
  const doublings = Math.min(Math.max(0, failures - 1), 30);
  return Math.min(minMs * 2 ** doublings, maxMs);
}
