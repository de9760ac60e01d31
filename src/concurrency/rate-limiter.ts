import { RATE_BURST_SECONDS } from "../settings/limits.ts";

/** Number of keys, such as tokens or source ids, for which one rate limiter stores a bucket. */
export const RATE_KEYS_MAX = 10_000;

interface Bucket {
  tokens: number;
  at: number;
}

/**
 * Creates a rate limiter with a token bucket for each key. The returned function takes the key of a
 * request. It admits the request and returns 0, or refuses it and returns the number of seconds
 * until it would admit one. After a pause, a key may send `RATE_BURST_SECONDS` of its rate at once.
 * With a rate of 0, every request is admitted.
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
    // Deleting and adding a bucket moves it to the end of the map. So the first bucket is the one
    // used longest ago, and is dropped first.
    buckets.delete(key);
    buckets.set(key, { tokens: tokens - 1, at });
    const [oldest] = buckets.keys();
    if (buckets.size > RATE_KEYS_MAX && oldest !== undefined) buckets.delete(oldest);
    return 0;
  };
}
