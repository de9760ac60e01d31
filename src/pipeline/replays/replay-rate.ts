import type { Clock } from "../clock.ts";
import { TRANSFORM_BATCH_EVENTS } from "../limits.ts";

/**
 * Capacity of the token bucket: the milliseconds in which an empty bucket fills at the replay's
 * rate. After a pause, a replay can release at once only the events that its rate allows in this
 * time.
 */
const BURST_MS = 100;

/**
 * Token bucket that limits a replay to its rate. It waits until it can release several events
 * together, because each release becomes a batch, and small batches are costly.
 */
export class ReplayRate {
  #tokens = 0;
  #filledAt: number;

  constructor(private readonly clock: Pick<Clock, "elapsed">) {
    this.#filledAt = clock.elapsed();
  }

  /**
   * Returns in `count` how many of the `waiting` events may be taken at present. If `count` is 0,
   * the caller asks again after `waitMs` milliseconds.
   */
  due(waiting: number, eventsPerSecond: number): { count: number; waitMs: number } {
    const size = Math.max(1, (eventsPerSecond * BURST_MS) / 1_000);
    const now = this.clock.elapsed();
    const earned = ((now - this.#filledAt) * eventsPerSecond) / 1_000;
    this.#tokens = Math.min(size, this.#tokens + earned);
    this.#filledAt = now;
    // Single events would cost a batch each.
    const lot = Math.min(waiting, TRANSFORM_BATCH_EVENTS, Math.floor(size));
    if (this.#tokens >= lot) {
      return { count: Math.min(waiting, Math.floor(this.#tokens)), waitMs: 0 };
    }
    return { count: 0, waitMs: ((lot - this.#tokens) * 1_000) / eventsPerSecond };
  }

  /** Removes one token for each of `events` events that were taken. */
  spend(events: number): void {
    this.#tokens -= events;
  }
}
