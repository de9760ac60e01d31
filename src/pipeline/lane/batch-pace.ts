import { RateMeter } from "../../concurrency/rate-meter.ts";

/** Longest time in milliseconds from the start of one batch of a lane to the next. */
const INTERVAL_MS_MAX = 10;
/**
 * Events per second of one lane at which it waits for `INTERVAL_MS_MAX`. A batch costs half a
 * millisecond whatever its size, so that batches of one event would take the whole processor.
 */
const LANE_EVENTS_PER_SECOND = 2_000;
/** Batches per second of all lanes together at which each lane waits for `INTERVAL_MS_MAX`. */
const BATCHES_PER_SECOND = 1_000;

/**
 * Decides how long lanes (the deliveries to one destination each) wait for more events before they
 * begin a batch. All lanes of a server share it. A quiet lane of a quiet server does not wait, so
 * that its events arrive early. A busy one waits, so that its batches are large and cheap.
 */
export class BatchPace {
  readonly #batches = new RateMeter();

  /** Records that a lane begins a batch at the time `now` of the clock `elapsed`. */
  noteBatch(now: number): void {
    this.#batches.add(1, now);
  }

  /**
   * Shortest time in milliseconds from the start of one batch to the next, for a lane that has
   * recently taken this many events per second.
   */
  intervalMs(eventsPerSecond: number, now: number): number {
    const ofLane = eventsPerSecond / LANE_EVENTS_PER_SECOND;
    const ofAll = this.#batches.perSecond(now) / BATCHES_PER_SECOND;
    return INTERVAL_MS_MAX * Math.min(1, Math.max(ofLane, ofAll));
  }
}
