import { RATE_BURST_SECONDS } from "../settings/limits.ts";

/** Keys, such as tokens or sources, whose buckets a rate limiter remembers. */
export const RATE_KEYS_MAX = 10_000;

interface Bucket {
  tokens: number;
  at: number;
}

/**
 * A token bucket per key. The returned function takes one request of a key's allowance and returns
 * 0, or the seconds after which the next request is admitted. A key may send at once what its rate
 * allows in `RATE_BURST_SECONDS`. A rate of 0 is no limit. Times are milliseconds.
 */
export function createRateLimiter(
  perSecond: number,
  now: () => number = () => performance.now(),
): (key: string) => number {
  if (perSecond <= 0) return () => 0;
  const size = Math.max(1, perSecond * RATE_BURST_SECONDS);
  const buckets = new Map<string, Bucket>();

  return (key) => {
    const at = now();
    const before = buckets.get(key) ?? { tokens: size, at };
    const tokens = Math.min(size, before.tokens + ((at - before.at) / 1_000) * perSecond);
    if (tokens < 1) return Math.ceil((1 - tokens) / perSecond);
    // Order by last use: a used bucket is removed and inserted at the end; the first is dropped.
    buckets.delete(key);
    buckets.set(key, { tokens: tokens - 1, at });
    const [oldest] = buckets.keys();
    if (buckets.size > RATE_KEYS_MAX && oldest !== undefined) buckets.delete(oldest);
    return 0;
  };
}
