import { RateMeter } from "../../concurrency/rate-meter.ts";

/** Longest pause in milliseconds between a response of a broker and the next fetch from it. */
const PAUSE_MS_MAX = 40;
/**
 * Lowest rate of record batches, per second and from all brokers together, at which a fetcher
 * pauses for the whole `PAUSE_MS_MAX`. At a lower rate, the pause is proportionally shorter.
 */
const BATCHES_PER_SECOND = 800;

/**
 * Decides how long a fetcher pauses after a response: longer at a higher rate of record batches.
 * Without pauses, each fetch would return only one or two batches, because a broker responds once
 * it has one.
 */
export class FetchPace {
  readonly #batches = new RateMeter();

  /**
   * Records that a response with `batches` record batches arrived at `now`, in milliseconds of a
   * monotonic clock. Returns the milliseconds to wait before the next fetch from the same broker.
   */
  pauseMs(batches: number, now: number): number {
    this.#batches.add(batches, now);
    return PAUSE_MS_MAX * Math.min(1, this.#batches.perSecond(now) / BATCHES_PER_SECOND);
  }
}
