import { backoffMs } from "../../concurrency/backoff.ts";

/** Delay of the next guest after one loss too many, doubled with each further one. */
const DELAY_MS_MIN = 100;
const DELAY_MS_MAX = 5_000;
/** Time without a loss after which one loss is forgotten. */
const FORGOTTEN_MS = 10_000;

/**
 * Delays the guests of a workspace whose code has lost several recently, while its events wait.
 * Each loss costs all workspaces the start of a guest, however many good events come between them.
 */
export class GuestLossBackoff {
  readonly #freeLosses: number;
  #count = 0;
  #at = Number.NEGATIVE_INFINITY;

  /** `freeLosses`: losses within a short time that cause no delay. */
  constructor(freeLosses: number) {
    this.#freeLosses = freeLosses;
  }

  add(now = performance.now()): void {
    this.#count = this.count(now) + 1;
    this.#at = now;
  }

  /** Recent losses. */
  count(now = performance.now()): number {
    return Math.max(0, this.#count - Math.floor((now - this.#at) / FORGOTTEN_MS));
  }

  /** Time until the workspace may have its next guest. */
  delayMs(now = performance.now()): number {
    const excess = this.#count - this.#freeLosses;
    if (excess <= 0) return 0;
    return Math.max(0, this.#at + backoffMs(excess, DELAY_MS_MIN, DELAY_MS_MAX) - now);
  }
}
