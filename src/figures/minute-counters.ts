import { CounterRing } from "./counter-ring.ts";
import { COUNTERS, type FigureRow, rowOf } from "./row.ts";

export const MINUTE_MS = 60_000;
/**
 * Number of minutes whose counts are kept in memory: the current minute and the minutes before it,
 * whose counts are perhaps not stored yet.
 */
export const COUNTED_MINUTES = 5;

/** Creates the counters of one series for the latest minutes. */
export function minuteRing(counters = COUNTERS): CounterRing {
  return new CounterRing(COUNTED_MINUTES, MINUTE_MS, counters);
}

/**
 * Counters of the latest minutes by id, such as events received by source. At the maximum number of
 * ids, a new id is counted only if an id without counts in these minutes can be removed.
 */
export class MinuteCounters {
  readonly #rings = new Map<string, { ring: CounterRing; at: number }>();
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly countMax: number) {}

  /**
   * Adds `by` to one counter of the item with this id (such as a source), in the minute of the time
   * `now`. `counter` is the constant for a count, such as `RECEIVED`, or a result of
   * `latencyCounter`.
   */
  add(id: string, now: number, counter: number, by: number): void {
    let counted = this.#rings.get(id);
    if (counted === undefined) {
      if (this.#rings.size >= this.countMax) this.#sweep(now);
      if (this.#rings.size >= this.countMax) return;
      counted = { ring: minuteRing(), at: now };
      this.#rings.set(id, counted);
    }
    counted.at = now;
    counted.ring.add(now, counter, by);
  }

  /** Returns the rows of the minute that began at the time `at`, by id. */
  *rows(at: number): Generator<[id: string, row: FigureRow]> {
    for (const [id, { ring }] of this.#rings) {
      const counters = ring.slot(at);
      if (counters !== undefined) yield [id, rowOf(counters)];
    }
  }

  #sweep(now: number): void {
    if (Math.abs(now - this.#sweptAt) < MINUTE_MS) return;
    this.#sweptAt = now;
    for (const [id, { at }] of this.#rings) {
      // `Math.abs` also finds an id that was counted last before the clock was set back.
      if (Math.abs(now - at) > COUNTED_MINUTES * MINUTE_MS) this.#rings.delete(id);
    }
  }
}
