import { RATE_BURST_SECONDS } from "../limits.ts";

interface Bucket {
  left: number;
  at: number;
}

/**
 * Takes one pixel of a source's allowance and returns 0, or the seconds after which the next one
 * has room. A source may send at once what its rate allows in two seconds. Times are milliseconds.
 */
export function createRateLimit(
  perSecond: number,
  now: () => number = () => performance.now(),
): (sourceId: string) => number {
  if (perSecond <= 0) return () => 0;
  const size = Math.max(1, perSecond * RATE_BURST_SECONDS);
  // As many as there are sources: a write key that nobody has never comes here.
  const buckets = new Map<string, Bucket>();

  return (sourceId) => {
    const at = now();
    let bucket = buckets.get(sourceId);
    if (bucket === undefined) {
      bucket = { left: size, at };
      buckets.set(sourceId, bucket);
    }
    bucket.left = Math.min(size, bucket.left + ((at - bucket.at) / 1_000) * perSecond);
    bucket.at = at;
    if (bucket.left < 1) return Math.ceil((1 - bucket.left) / perSecond);
    bucket.left--;
    return 0;
  };
}
