import { RETRY_DELAY_MS_MAX } from "../../settings/limits.ts";
import { type Clock, Notifier } from "../clock.ts";
import type { OutputCounts } from "../model/lane-event.ts";

export interface QueueWaitsContext {
  readonly outputCounts: Pick<OutputCounts, "taken">;
  clock: Pick<Clock, "sleep">;
}

/**
 * The waits of one delivery queue: until a request is full, until a retry is due, and between a
 * failed attempt and the next one.
 */
export class QueueWaits {
  readonly #wake = new Notifier();
  /** Number of calls of `end`. If it changes during a wait, the wait was ended early. */
  #wakes = 0;
  /** Whether the queue waits between a failed attempt and the next one. */
  isPaused = false;
  /** Whether every event of the queue waits for a retry that is not due yet. */
  isIdle = false;
  /**
   * Whether the queue waits after a failed attempt, and `DeliveryQueue.resume` may end this wait
   * once the destination works again. False for a delay that the receiver has asked for.
   */
  mayRetryEarlier = false;

  constructor(private readonly context: QueueWaitsContext) {}

  /** Ends the current wait early. */
  end(): void {
    this.#wakes += 1;
    this.#wake.notify();
  }

  async fill(ms: number): Promise<void> {
    await this.context.clock.sleep(ms, this.#wake);
  }

  async idle(ms: number): Promise<void> {
    this.isIdle = true;
    await this.context.clock.sleep(ms, this.#wake);
    this.isIdle = false;
  }

  /**
   * Waits `ms` milliseconds after a failed attempt. With `mayRetryEarlier`, `DeliveryQueue.resume`
   * may end the wait. A receiver may ask for more than `RETRY_DELAY_MS_MAX` because of a single
   * event; such a wait ends early if other events are accepted.
   */
  async pause(ms: number, mayRetryEarlier: boolean): Promise<void> {
    const { outputCounts, clock } = this.context;
    const { taken } = outputCounts;
    const wakes = this.#wakes;
    this.isPaused = true;
    this.mayRetryEarlier = mayRetryEarlier;
    for (let left = ms; left > 0; left -= RETRY_DELAY_MS_MAX) {
      await clock.sleep(Math.min(left, RETRY_DELAY_MS_MAX), this.#wake);
      if (this.#wakes !== wakes || outputCounts.taken !== taken) break;
    }
    this.isPaused = false;
    this.mayRetryEarlier = false;
  }
}
