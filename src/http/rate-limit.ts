import { RATE_BURST_SECONDS } from "../settings/limits.ts";

/** Tokens, or sources, whose use a rate limit remembers. */
export const RATE_KEYS_MAX = 10_000;

interface Bucket {
  left: number;
  at: number;
}

/**
 * Takes one request of a key's allowance and returns 0, or the seconds after which the next one
 * has room. A key may send at once what its rate allows in `RATE_BURST_SECONDS`. A rate of 0 is
 * no limit. Times are milliseconds.
 */
export function createRateLimit(
  perSecond: number,
  now: () => number = () => performance.now(),
): (key: string) => number {
  if (perSecond <= 0) return () => 0;
  const size = Math.max(1, perSecond * RATE_BURST_SECONDS);
  const buckets = new Map<string, Bucket>();

  return (key) => {
    const at = now();
    const before = buckets.get(key) ?? { left: size, at };
    const left = Math.min(size, before.left + ((at - before.at) / 1_000) * perSecond);
    if (left < 1) return Math.ceil((1 - left) / perSecond);
    // The oldest bucket is forgotten first. A bucket that is used is taken out and put back, and so
    // is never the oldest.
    buckets.delete(key);
    buckets.set(key, { left: left - 1, at });
    const [oldest] = buckets.keys();
    if (buckets.size > RATE_KEYS_MAX && oldest !== undefined) buckets.delete(oldest);
    return 0;
  };
}
