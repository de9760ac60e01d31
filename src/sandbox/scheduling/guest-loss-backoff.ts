import { backoffMs } from "../../concurrency/backoff.ts";

/**
 * Milliseconds of delay before a workspace's next guest process after the first loss (a guest that
 * its code has ended) beyond the `freeLosses` that cause no delay. Each further loss doubles the
 * delay, up to `DELAY_MS_MAX`.
 */
const DELAY_MS_MIN = 100;
const DELAY_MS_MAX = 5_000;
/**
 * Milliseconds without a loss (a guest process that its code has ended) after which the count of
 * losses decreases by one.
 */
const FORGOTTEN_MS = 10_000;

/**
 * Delays the next guest process of a workspace (tenant) whose code has recently ended several
 * guests (losses). The events of that workspace wait meanwhile. After each loss a guest has to be
 * started, which slows down all workspaces, even if many events succeed between two losses.
 */
export class GuestLossBackoff {
  readonly #freeLosses: number;
  #count = 0;
  #at = Number.NEGATIVE_INFINITY;

  /**
   * `freeLosses` is the number of recent losses (guest processes that the code has ended) that
   * cause no delay.
   */
  constructor(freeLosses: number) {
    this.#freeLosses = freeLosses;
  }

  add(now = performance.now()): void {
    this.#count = this.count(now) + 1;
    this.#at = now;
  }

  /** Returns the number of recent losses (guest processes that the workspace's code has ended). */
  count(now = performance.now()): number {
    return Math.max(0, this.#count - Math.floor((now - this.#at) / FORGOTTEN_MS));
  }

  /**
   * Returns the milliseconds until the workspace may have its next guest process; 0 when it may
   * have one now.
   */
  delayMs(now = performance.now()): number {
    const excess = this.#count - this.#freeLosses;
    if (excess <= 0) return 0;
    return Math.max(0, this.#at + backoffMs(excess, DELAY_MS_MIN, DELAY_MS_MAX) - now);
  }
}
