import { RATE_BURST_SECONDS } from "../settings/limits.ts";

/**
 * Maximum number of keys, such as workspaces or source ids, whose tokens one limiter stores. When
 * there are more keys, the limiter forgets the least recently used one. That key then counts as
 * having all its tokens.
 */
export const RATE_KEYS_MAX = 10_000;

/**
 * Token bucket of one key. `tokens` is the number of its tokens at the time `at`. The number is
 * negative after a request that cost more tokens than the bucket had.
 */
interface Bucket {
  tokens: number;
  at: number;
}

interface Rate {
  perSecond: number;
  /**
   * Maximum number of tokens that a key can save up. The default is the number of tokens that it
   * gets in `RATE_BURST_SECONDS`.
   */
  burst?: number;
  now?: () => number;
}

/**
 * Token buckets for rate limits, one for each key. A bucket fills with `perSecond` tokens a second,
 * up to `burst`. With a rate of 0, there is no limit.
 */
export class TokenBuckets {
  #perSecond = 0;
  #burst = 0;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor({ now, ...rate }: Rate) {
    this.#now = now ?? (() => performance.now());
    this.setRate(rate);
  }

  /** Changes the rate. Each key keeps its tokens, but not more than the new `burst`. */
  setRate({ perSecond, burst = perSecond * RATE_BURST_SECONDS }: Omit<Rate, "now">): void {
    this.#perSecond = perSecond;
    this.#burst = Math.max(1, burst);
  }

  /**
   * Returns the number of seconds, rounded up, until the key has at least one token. Returns 0 if
   * the key has one already.
   */
  waitSeconds(key: string): number {
    if (this.#perSecond <= 0) return 0;
    const tokens = this.#tokens(key, this.#now());
    return tokens < 1 ? Math.ceil((1 - tokens) / this.#perSecond) : 0;
  }

  /** Returns the number of whole tokens that the key has, or `Infinity` if there is no limit. */
  available(key: string): number {
    if (this.#perSecond <= 0) return Infinity;
    return Math.max(0, Math.floor(this.#tokens(key, this.#now())));
  }

  /**
   * Takes `count` tokens from a key. If the key has fewer tokens, its number of tokens becomes
   * negative.
   */
  take(key: string, count = 1): void {
    if (this.#perSecond <= 0) return;
    const at = this.#now();
    const tokens = this.#tokens(key, at) - count;
    // Deleting and adding a bucket moves it to the end of the map. So the first bucket is the one
    // used longest ago, and is dropped first.
    this.#buckets.delete(key);
    this.#buckets.set(key, { tokens, at });
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > RATE_KEYS_MAX) this.#buckets.delete(oldest!);
  }

  /** Gives tokens back that were taken for an action that did not happen. */
  give(key: string, count: number): void {
    // The bucket may get more tokens than the burst. It then counts as full.
    this.take(key, -count);
  }

  #tokens(key: string, at: number): number {
    const before = this.#buckets.get(key);
    if (before === undefined) return this.#burst;
    return Math.min(this.#burst, before.tokens + ((at - before.at) / 1_000) * this.#perSecond);
  }
}
