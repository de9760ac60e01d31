/** Minimum length in milliseconds of the windows of time in which occurrences are counted. */
const WINDOW_MS = 100;

/**
 * Measures a rate: the number of occurrences per second in the last complete window of time. A
 * window lasts at least `WINDOW_MS`.
 */
export class RateMeter {
  #start = 0;
  #count = 0;
  #perSecond = 0;

  /** Adds `count` occurrences at the time `now`, in milliseconds of a monotonic clock. */
  add(count: number, now: number): void {
    this.#advance(now);
    this.#count += count;
  }

  perSecond(now: number): number {
    this.#advance(now);
    return this.#perSecond;
  }

  #advance(now: number): void {
    const ms = now - this.#start;
    if (ms < WINDOW_MS) return;
    this.#perSecond = (1_000 * this.#count) / ms;
    this.#count = 0;
    this.#start = now;
  }
}
