import { RateMeter } from "../../concurrency/rate-meter.ts";

/** Longest pause in milliseconds between a response of a broker and the next fetch from it. */
const PAUSE_MS_MAX = 40;
/** Record batches per second, of all brokers together, at which a fetcher pauses for `PAUSE_MS_MAX`. */
const BATCHES_PER_SECOND = 800;

/**
 * Decides how long a fetcher pauses after a response. A broker answers a fetch as soon as it has
 * one record batch, and a fetch costs the same with many batches. The pause therefore grows with
 * the rate of the batches, so that a fetch has more of them. Rare batches do not wait.
 */
export class FetchPace {
  readonly #batches = new RateMeter();

  /** Adds a response with `batches` batches at `now`; returns the pause after it in milliseconds. */
  pauseMs(batches: number, now: number): number {
    this.#batches.add(batches, now);
    return PAUSE_MS_MAX * Math.min(1, this.#batches.perSecond(now) / BATCHES_PER_SECOND);
  }
}
