import { RETRY_DELAY_MS_MAX } from "../../settings/limits.ts";
import { Notifier } from "../clock.ts";
import type { OutputCounts } from "../model/lane-event.ts";

export interface QueueWaitsContext {
  readonly outputCounts: Pick<OutputCounts, "taken">;
  sleep(ms: number, until: Notifier): Promise<void>;
}

/** The waits of one delivery queue: for a full request, for a retry, or after a failed attempt. */
export class QueueWaits {
  readonly #context: QueueWaitsContext;
  readonly #wake = new Notifier();
  /** Number of notifications of `#wake`. */
  #wakes = 0;
  /** Whether the queue is waiting between a failed attempt and the next one. */
  isPaused = false;
  /** Whether the queue has nothing to deliver but outputs whose next attempt is not due yet. */
  isIdle = false;
  /**
   * Whether the wait after a failed attempt may be cut short. False when the receiver has asked for
   * a certain delay, or when there is no such wait.
   */
  mayRetryEarlier = false;

  constructor(context: QueueWaitsContext) {
    this.#context = context;
  }

  /** Ends any wait early. */
  end(): void {
    this.#wakes += 1;
    this.#wake.notify();
  }

  async fill(ms: number): Promise<void> {
    await this.#context.sleep(ms, this.#wake);
  }

  async idle(ms: number): Promise<void> {
    this.isIdle = true;
    await this.#context.sleep(ms, this.#wake);
    this.isIdle = false;
  }

  /**
   * Waits after a failed attempt. A receiver that asks for a long delay may mean one event only: the
   * wait ends earlier when other outputs of the lane are taken meanwhile.
   */
  async pause(ms: number, mayRetryEarlier: boolean): Promise<void> {
    const { outputCounts, sleep } = this.#context;
    const { taken } = outputCounts;
    const wakes = this.#wakes;
    this.isPaused = true;
    this.mayRetryEarlier = mayRetryEarlier;
    for (let left = ms; left > 0; left -= RETRY_DELAY_MS_MAX) {
      await sleep(Math.min(left, RETRY_DELAY_MS_MAX), this.#wake);
      if (this.#wakes !== wakes || outputCounts.taken !== taken) break;
    }
    this.isPaused = false;
    this.mayRetryEarlier = false;
  }
}
