import { backoffMs } from "../../concurrency/backoff.ts";

/** Wait for the next guest after one loss too many, doubled with each further one. */
const DELAY_MS_MIN = 100;
const DELAY_MS_MAX = 5_000;
/** Time without a loss after which one loss is forgotten. */
const FORGOTTEN_MS = 10_000;

/**
 * Guests that a workspace's code has cost of late. Each of them costs everybody a start, whatever
 * good events lie between: so after some losses the workspace's next guest comes later and later,
 * and its events wait.
 */
export class GuestLossBackoff {
  readonly #free: number;
  #count = 0;
  #at = Number.NEGATIVE_INFINITY;

  /** `free`: losses within a short time that cost no wait. */
  constructor(free: number) {
    this.#free = free;
  }

  add(now = performance.now()): void {
    this.#count = this.count(now) + 1;
    this.#at = now;
  }

  count(now = performance.now()): number {
    return Math.max(0, this.#count - Math.floor((now - this.#at) / FORGOTTEN_MS));
  }

  /** Time until the workspace may have its next guest. */
  delayMs(now = performance.now()): number {
    const beyond = this.#count - this.#free;
    if (beyond <= 0) return 0;
    return Math.max(0, this.#at + backoffMs(beyond, DELAY_MS_MIN, DELAY_MS_MAX) - now);
  }
}
