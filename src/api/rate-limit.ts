import { ApiError } from "../errors.ts";
import { RATE_BURST_SECONDS, RATE_TOKENS_MAX } from "../limits.ts";

/** Requests per second and token, over the long run; a burst may take what a few seconds allow. */
export interface RateLimit {
  perSecond: number;
}

/** A request that has to wait, and for how long. */
export class TooMany extends ApiError {
  constructor(readonly retryAfterSeconds: number) {
    super("too-many", "Expected fewer requests of this token, got more than its rate allows");
  }
}

interface Bucket {
  left: number;
  at: number;
}

/** Takes one request of a token's allowance, or throws `TooMany`. Times are milliseconds. */
export function createRateLimiter({ perSecond }: RateLimit, now = () => performance.now()) {
  const size = Math.max(1, perSecond * RATE_BURST_SECONDS);
  const buckets = new Map<string, Bucket>();

  return (tokenId: string): void => {
    const at = now();
    const before = buckets.get(tokenId) ?? { left: size, at };
    const left = Math.min(size, before.left + ((at - before.at) / 1_000) * perSecond);
    if (left < 1) throw new TooMany(Math.ceil((1 - left) / perSecond));
    // The oldest goes first: taken out and put back, a bucket in use is never the oldest.
    buckets.delete(tokenId);
    buckets.set(tokenId, { left: left - 1, at });
    const [oldest] = buckets.keys();
    if (buckets.size > RATE_TOKENS_MAX && oldest) buckets.delete(oldest);
  };
}
