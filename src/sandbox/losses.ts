import { backoffMs } from "../backoff.ts";

/** Until the next guest after one loss more, doubled with each. */
const DELAY_MS_MIN = 100;
const DELAY_MS_MAX = 5_000;
/** Without a loss, after which one is forgotten. */
const FORGOTTEN_MS = 10_000;

/**
 * Guests that a workspace's code has cost of late. Each costs everybody a start, whatever good events
 * there are between: after some of them the workspace's next guest is later and later, and its
 * events wait.
 */
export class Losses {
  readonly #free: number;
  #count = 0;
  #at = Number.NEGATIVE_INFINITY;

  /** `free`: how many within a short time cost no wait. */
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

  /** Until the workspace may have its next guest. */
  delayMs(now = performance.now()): number {
    const beyond = this.#count - this.#free;
    if (beyond <= 0) return 0;
    return Math.max(0, this.#at + backoffMs(beyond, DELAY_MS_MIN, DELAY_MS_MAX) - now);
  }
}
