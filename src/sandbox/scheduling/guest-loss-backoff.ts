import { backoffMs } from "../../concurrency/backoff.ts";

/**
 * Delay in milliseconds of a workspace's next guest process when its recent losses (guests ended by
 * user code) exceed `freeLosses` by one. Each further loss doubles the delay, up to `DELAY_MS_MAX`.
 */
const DELAY_MS_MIN = 100;
const DELAY_MS_MAX = 5_000;
/**
 * Interval in milliseconds at which the count of losses (guest processes ended by user code)
 * decreases by one while no new loss occurs.
 */
const FORGOTTEN_MS = 10_000;

/**
 * Delays the next guest process of a workspace (tenant) whose code has recently ended several
 * guests (losses). Without the delay, such code would make the server start guests all the time,
 * which slows down all workspaces.
 */
export class GuestLossBackoff {
  #count = 0;
  #at = Number.NEGATIVE_INFINITY;

  /**
   * `freeLosses` is the number of recent losses (guest processes that user code ended) that cause
   * no delay.
   */
  constructor(private readonly freeLosses: number) {}

  add(now = performance.now()): void {
    this.#count = this.count(now) + 1;
    this.#at = now;
  }

  /** Returns the number of guest processes that the workspace's code has recently ended. */
  count(now = performance.now()): number {
    return Math.max(0, this.#count - Math.floor((now - this.#at) / FORGOTTEN_MS));
  }

  /**
   * Returns the milliseconds until the workspace may have its next guest process; 0 when it may
   * have one at once.
   */
  delayMs(now = performance.now()): number {
    const excess = this.#count - this.freeLosses;
    if (excess <= 0) return 0;
    return Math.max(0, this.#at + backoffMs(excess, DELAY_MS_MIN, DELAY_MS_MAX) - now);
  }
}
