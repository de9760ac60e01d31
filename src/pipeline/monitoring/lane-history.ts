import { type CounterIndex, CounterRing } from "../../figures/counter-ring.ts";
import { COUNTED_MINUTES, MINUTE_MS, minuteRing } from "../../figures/minute-counters.ts";
import {
  DELIVERED,
  DROPPED,
  FAILED,
  latencyCounter,
  RECEIVED,
  RETRIED,
} from "../../figures/row.ts";
import { LANE_HISTORIES_MAX, LANE_HISTORY_CONNECTIONS_MAX } from "../../settings/limits.ts";

/**
 * Names of the counters of one source's events. `received` counts the events that were read. The
 * others count outputs (events as user code made them) by their final outcome.
 */
type CounterName = "received" | "delivered" | "dropped" | "failed";

/** Events per second by counter, averaged over about the last minute. */
export type Rates = Record<CounterName, number>;
export interface ConnectionRates extends Rates {
  sourceId: string;
}

interface LaneMinute {
  /**
   * Counters of the lane (a destination's delivery), in the order of the columns of a row of
   * figures (statistics). The counter `RECEIVED` is 0, because received events are counted only per
   * source.
   */
  counters: ArrayLike<number>;
  /** For each source with counted events: its id and its counters. */
  sources: [sourceId: string, counters: ArrayLike<number>][];
}

/**
 * Milliseconds without events after which a source's or a destination's counters may be deleted to
 * make room for others. By then, all counts are older than the minutes that a `CounterRing` keeps.
 */
const IDLE_MS = COUNTED_MINUTES * MINUTE_MS;

/**
 * Whether counters with the last event at `lastAt` are idle: they had no event for `IDLE_MS`. A
 * time more than `IDLE_MS` in the future also counts as idle, because it means that the clock was
 * set back.
 */
const isIdle = (lastAt: number, now: number) => Math.abs(now - lastAt) > IDLE_MS;

/**
 * Expected number of failures at which a destination counts as recovered: the outputs accepted
 * since the last failure, times the failed fraction of the last minute's outputs. A destination
 * that still fails counts as recovered in about one of e³ = 20 cases.
 */
const EXPECTED_FAILURES = 3;
const RATE_SLOT_MS = 10_000;
/**
 * Number of 10-second slots over which a rate is computed: the current, incomplete one and the six
 * before it.
 */
const RATE_SLOTS = 7;

const counterNames: readonly CounterName[] = ["received", "delivered", "dropped", "failed"];
/** Index of each counter in the counts of a `CounterRing`, and in a figure row. */
const counterIndex = { received: RECEIVED, delivered: DELIVERED, dropped: DROPPED, failed: FAILED };

interface SourceCounters {
  rates: CounterRing;
  minutes: CounterRing;
  /** Time of the last counted event, in milliseconds since the epoch. */
  lastAt: number;
}

/**
 * Recent activity of one lane (the delivery to one destination): counts per minute, which are
 * stored as figures, and the current rates of each connection. Records nothing while
 * `LaneHistories` has no room for it.
 */
class LaneHistory {
  #minutes: CounterRing | undefined;
  readonly #sources = new Map<string, SourceCounters>();
  #deliveredSinceFailure = 0;
  /**
   * Time of the last recorded event or attempt, in milliseconds since the epoch; 0 before the
   * first.
   */
  lastAt = 0;

  constructor(private readonly histories: LaneHistories) {}

  get connections(): number {
    return this.#sources.size;
  }

  /** Counts `count` events of one source that were read from the log for this destination. */
  recordReceived(sourceId: string, now: number, count = 1): void {
    this.#count(sourceId, RECEIVED, now, count);
  }

  /** Counts outputs of one source's events: `count` outputs with the final outcome `kind`. */
  recordOutcome(
    sourceId: string,
    kind: "delivered" | "dropped" | "dead-letter",
    now: number,
    count = 1,
  ): void {
    const column = kind === "delivered" ? DELIVERED : kind === "dropped" ? DROPPED : FAILED;
    if (kind === "delivered") this.#deliveredSinceFailure += count;
    else if (kind === "dead-letter") this.#deliveredSinceFailure = 0;
    this.#count(sourceId, column, now, count);
    this.#minutes?.add(now, column, count);
  }

  recordAttempt(isRetried: boolean, ms: number, now: number): void {
    const minutes = this.#open(now);
    if (isRetried) minutes?.add(now, RETRIED);
    minutes?.add(now, latencyCounter(ms));
  }

  /**
   * Returns the counts of the minute that began at the time `at`. Returns undefined when the minute
   * had no events, or is too old to be in memory.
   */
  minute(at: number): LaneMinute | undefined {
    const counters = this.#minutes?.slot(at);
    const sources = [...this.#sources].flatMap(([id, { minutes }]) => {
      const counted = minutes.slot(at);
      return counted === undefined ? [] : [[id, counted] satisfies [string, Uint32Array]];
    });
    if (counters === undefined && sources.length === 0) return undefined;
    return { counters: counters ?? [], sources };
  }

  rates(now: number): ConnectionRates[] {
    return [...this.#sources].map(([sourceId, { rates }]) => {
      const { sums, ms } = rates.total(now);
      const perSecond = (name: CounterName) => (1_000 * sums[counterIndex[name]]!) / ms;
      return {
        sourceId,
        received: perSecond("received"),
        delivered: perSecond("delivered"),
        dropped: perSecond("dropped"),
        failed: perSecond("failed"),
      };
    });
  }

  /**
   * Whether some events still fail: an output became a dead letter in the last minute, and the
   * destination does not count as recovered since then (see `EXPECTED_FAILURES`).
   */
  isRejecting(now: number): boolean {
    let delivered = 0;
    let failed = 0;
    for (const rates of this.rates(now)) {
      delivered += rates.delivered;
      failed += rates.failed;
    }
    if (failed === 0) return false;
    return (this.#deliveredSinceFailure * failed) / (failed + delivered) < EXPECTED_FAILURES;
  }

  /** Deletes the counters of sources that had no events for `IDLE_MS`. */
  clearIdleSources(now: number): void {
    for (const [id, { lastAt }] of this.#sources) {
      if (!isIdle(lastAt, now)) continue;
      this.#sources.delete(id);
      this.histories.releaseConnection();
    }
  }

  /** Deletes all counters and frees their memory. */
  clear(): void {
    this.histories.release(this);
    this.#minutes = undefined;
    this.#sources.clear();
  }

  #open(now: number): CounterRing | undefined {
    this.lastAt = now;
    if (this.#minutes === undefined && this.histories.admit(this, now)) {
      this.#minutes = minuteRing();
    }
    return this.#minutes;
  }

  #count(sourceId: string, column: CounterIndex, now: number, count: number): void {
    if (this.#open(now) === undefined) return;
    const counters = this.#sources.get(sourceId) ?? this.#openSource(sourceId, now);
    if (counters === undefined) return;
    counters.lastAt = now;
    counters.rates.add(now, column, count);
    counters.minutes.add(now, column, count);
  }

  #openSource(sourceId: string, now: number): SourceCounters | undefined {
    if (!this.histories.admitConnection(now)) return undefined;
    const width = counterNames.length;
    const rates = new CounterRing(RATE_SLOTS, RATE_SLOT_MS, width);
    const counters = { rates, minutes: minuteRing(width), lastAt: now };
    this.#sources.set(sourceId, counters);
    return counters;
  }
}

/**
 * Recent activity of the lanes (deliveries to destinations), by destination id. The numbers of
 * destinations and connections are limited. At a limit, counters without events for `IDLE_MS` are
 * deleted; if there are none, new destinations or connections are not counted.
 */
export class LaneHistories {
  readonly #all = new Map<string, LaneHistory>();
  readonly #open = new Set<LaneHistory>();
  #connections = 0;
  #sweptAt = Number.NEGATIVE_INFINITY;

  get(destinationId: string): LaneHistory {
    return this.#all.getOrInsertComputed(destinationId, () => new LaneHistory(this));
  }

  /** Returns by destination the counts of the minute that began at the time `at`. */
  *minute(at: number): Generator<[destinationId: string, counted: LaneMinute]> {
    for (const [id, history] of this.#all) {
      const counted = history.minute(at);
      if (counted !== undefined) yield [id, counted];
    }
  }

  forget(destinationId: string): void {
    this.#all.get(destinationId)?.clear();
    this.#all.delete(destinationId);
  }

  /**
   * Reserves room for the counters of a destination's history. Returns false when there is no room;
   * the history then records nothing.
   */
  admit(history: LaneHistory, now: number): boolean {
    if (this.#open.size >= LANE_HISTORIES_MAX) this.#sweep(now);
    if (this.#open.size >= LANE_HISTORIES_MAX) return false;
    this.#open.add(history);
    return true;
  }

  /**
   * Reserves room for one connection's counters. Returns false when there is no room; the
   * connection's events are then not counted.
   */
  admitConnection(now: number): boolean {
    if (this.#connections >= LANE_HISTORY_CONNECTIONS_MAX) this.#sweep(now);
    if (this.#connections >= LANE_HISTORY_CONNECTIONS_MAX) return false;
    this.#connections += 1;
    return true;
  }

  releaseConnection(): void {
    this.#connections -= 1;
  }

  release(history: LaneHistory): void {
    if (this.#open.delete(history)) this.#connections -= history.connections;
  }

  /**
   * Deletes counters that had no events for `IDLE_MS`. Runs at most once a minute, because each run
   * visits all counters.
   */
  #sweep(now: number): void {
    if (Math.abs(now - this.#sweptAt) < MINUTE_MS) return;
    this.#sweptAt = now;
    for (const history of this.#open) {
      if (isIdle(history.lastAt, now)) history.clear();
      else history.clearIdleSources(now);
    }
  }
}
