import { RateMeter } from "../../concurrency/rate-meter.ts";

/**
 * Maximum result of `intervalMs`: the longest time in milliseconds after the start of a batch for
 * which a lane delays the next one, to gather more events.
 */
const INTERVAL_MS_MAX = 10;
/**
 * Rate of a lane (the delivery to one destination), in events per second, at or above which
 * `intervalMs` returns `INTERVAL_MS_MAX`. Batches of one event could use a whole processor at this
 * rate, because each costs half a millisecond.
 */
const LANE_EVENTS_PER_SECOND = 2_000;
/**
 * Rate of all lanes together, in batches per second. At this rate or a higher one, `intervalMs`
 * returns `INTERVAL_MS_MAX` for every lane; at a lower one, the interval may be shorter.
 */
const BATCHES_PER_SECOND = 1_000;

/**
 * Decides how long a lane (the delivery to one destination) waits for more events before a batch.
 * The wait is longer when the lane or the server has many events, because large batches cost less
 * per event. All lanes share this object.
 */
export class BatchPace {
  readonly #batches = new RateMeter();

  /** Records that a lane begins a batch at the time `now` of the clock `elapsed`. */
  noteBatch(now: number): void {
    this.#batches.add(1, now);
  }

  /**
   * Returns the minimum time in milliseconds from the start of one batch to the next, for a lane
   * that has recently taken `eventsPerSecond` events per second.
   */
  intervalMs(eventsPerSecond: number, now: number): number {
    const ofLane = eventsPerSecond / LANE_EVENTS_PER_SECOND;
    const ofAll = this.#batches.perSecond(now) / BATCHES_PER_SECOND;
    return INTERVAL_MS_MAX * Math.min(1, Math.max(ofLane, ofAll));
  }
}
