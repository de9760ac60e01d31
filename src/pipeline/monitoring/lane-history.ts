import { LANE_HISTORIES_MAX, LANE_HISTORY_CONNECTIONS_MAX } from "../../settings/limits.ts";
import { type CounterIndex, CounterRing } from "./counter-ring.ts";

/**
 * Counters that are kept per source: events received, and events by the outcome of their outputs.
 */
export type CounterName = "received" | "delivered" | "dropped" | "failed";

/** Events per second by counter, averaged over about the last minute. */
export type Rates = Record<CounterName, number>;
export interface ConnectionRates extends Rates {
  sourceId: string;
}

/** Statistics of one minute of a destination. */
export interface MinuteStats {
  /** Start of the minute, in milliseconds since the Unix epoch. */
  at: number;
  delivered: number;
  dropped: number;
  /** Number of events that became dead letters. */
  failed: number;
  /** Number of failed attempts that were followed by another attempt. */
  retried: number;
  attempts: number;
  /** Median duration of an attempt in milliseconds; absent when the minute has no attempts. */
  p50Ms?: number;
  p99Ms?: number;
}

/** Raw counters of one minute, by counter index. Nodes of a cluster send them to each other. */
export interface MinuteCounts {
  /** Start of the minute, in milliseconds since the Unix epoch. */
  at: number;
  counts: number[];
}

const MINUTE_MS = 60_000;
const MINUTES = 60;
const RATE_SLOT_MS = 10_000;
/**
 * Number of slots of 10 seconds in a rate: the one that is being filled, and a whole minute before.
 */
const RATE_SLOTS = 7;

const counterNames: readonly CounterName[] = ["received", "delivered", "dropped", "failed"];
const counterIndex = (name: CounterName): CounterIndex => counterNames.indexOf(name);

const DELIVERED = 0;
const DROPPED = 1;
const FAILED = 2;
const RETRIED = 3;
const TIMES = 4;
/**
 * Upper bounds of the histogram buckets for the duration of attempts. Each is 1.5 times the one
 * before.
 */
const BUCKETS_MS = Array.from({ length: 28 }, (_, at) => 1.5 ** at);

/**
 * Recent activity of one lane, which delivers one destination's events. Has counters for each
 * minute of the last hour, and current rates for each connection. Its memory is allocated at the
 * first event, and only while `LaneHistories` has room.
 */
export class LaneHistory {
  readonly #histories: LaneHistories;
  #minutes: CounterRing | undefined;
  readonly #rates = new Map<string, CounterRing>();
  /** Time of the last recorded event or attempt; 0 before the first. */
  lastAt = 0;

  constructor(histories: LaneHistories) {
    this.#histories = histories;
  }

  get connections(): number {
    return this.#rates.size;
  }

  /** Counts events that were read; each source needs one call for a batch of its events. */
  recordReceived(sourceId: string, now: number, count = 1): void {
    this.#ratesOf(sourceId, now)?.add(now, counterIndex("received"), count);
  }

  /** Counts events with the same final outcome. */
  recordOutcome(
    sourceId: string,
    kind: "delivered" | "dropped" | "dead-letter",
    now: number,
    count = 1,
  ): void {
    const name = kind === "dead-letter" ? "failed" : kind;
    const column = name === "delivered" ? DELIVERED : name === "dropped" ? DROPPED : FAILED;
    this.#ratesOf(sourceId, now)?.add(now, counterIndex(name), count);
    this.#open(now)?.add(now, column, count);
  }

  recordAttempt(isRetried: boolean, ms: number, now: number): void {
    const minutes = this.#open(now);
    if (isRetried) minutes?.add(now, RETRIED);
    const bucket = BUCKETS_MS.findIndex((end) => ms <= end);
    minutes?.add(now, TIMES + (bucket < 0 ? BUCKETS_MS.length - 1 : bucket));
  }

  /** Returns the counters of those minutes of the last hour in which anything was counted. */
  minutes(now: number): MinuteCounts[] {
    return [...(this.#minutes?.rows(now) ?? [])].flatMap(({ at, counts }) =>
      counts.some((count) => count > 0) ? [{ at, counts: [...counts] }] : [],
    );
  }

  rates(now: number): ConnectionRates[] {
    return [...this.#rates].map(([sourceId, slots]) => {
      const { sums, ms } = slots.total(now);
      const perSecond = (name: CounterName) => (1_000 * (sums[counterIndex(name)] ?? 0)) / ms;
      return {
        sourceId,
        received: perSecond("received"),
        delivered: perSecond("delivered"),
        dropped: perSecond("dropped"),
        failed: perSecond("failed"),
      };
    });
  }

  /** Deletes all counters and frees their memory. */
  clear(): void {
    this.#histories.release(this);
    this.#minutes = undefined;
    this.#rates.clear();
  }

  #open(now: number): CounterRing | undefined {
    this.lastAt = now;
    if (this.#minutes === undefined && this.#histories.admit(this, now)) {
      this.#minutes = new CounterRing(MINUTES, MINUTE_MS, TIMES + BUCKETS_MS.length);
    }
    return this.#minutes;
  }

  #ratesOf(sourceId: string, now: number): CounterRing | undefined {
    if (this.#open(now) === undefined) return undefined;
    const known = this.#rates.get(sourceId);
    if (known !== undefined) return known;
    if (!this.#histories.admitConnection()) return undefined;
    const slots = new CounterRing(RATE_SLOTS, RATE_SLOT_MS, counterNames.length);
    this.#rates.set(sourceId, slots);
    return slots;
  }
}

/**
 * Recent activity of all destinations, by destination id. Bounds its memory: when there is no room
 * for another history, histories without events in the last hour are cleared.
 */
export class LaneHistories {
  readonly #all = new Map<string, LaneHistory>();
  readonly #open = new Set<LaneHistory>();
  #connections = 0;
  #sweptAt = Number.NEGATIVE_INFINITY;

  get(destinationId: string): LaneHistory {
    let history = this.#all.get(destinationId);
    if (history === undefined) {
      history = new LaneHistory(this);
      this.#all.set(destinationId, history);
    }
    return history;
  }

  minutes(destinationId: string, now: number): MinuteCounts[] {
    return this.#all.get(destinationId)?.minutes(now) ?? [];
  }

  forget(destinationId: string): void {
    this.#all.get(destinationId)?.clear();
    this.#all.delete(destinationId);
  }

  /**
   * Reserves room for a history's counters. False when there is none: the history then records
   * nothing.
   */
  admit(history: LaneHistory, now: number): boolean {
    if (this.#open.size >= LANE_HISTORIES_MAX) this.#sweep(now);
    if (this.#open.size >= LANE_HISTORIES_MAX) return false;
    this.#open.add(history);
    return true;
  }

  /**
   * Reserves room for one connection's rates. False when there is none: the rates are not recorded
   * then.
   */
  admitConnection(): boolean {
    if (this.#connections >= LANE_HISTORY_CONNECTIONS_MAX) return false;
    this.#connections += 1;
    return true;
  }

  release(history: LaneHistory): void {
    if (this.#open.delete(history)) this.#connections -= history.connections;
  }

  /**
   * Clears the histories without events in the last hour. Does so at most once a minute, because a
   * sweep frees nothing while all destinations are busy.
   */
  #sweep(now: number): void {
    if (Math.abs(now - this.#sweptAt) < MINUTE_MS) return;
    this.#sweptAt = now;
    for (const history of this.#open) {
      if (now - history.lastAt > MINUTES * MINUTE_MS) history.clear();
    }
  }
}

/**
 * Adds up the minutes that all nodes have counted in the last hour. The oldest minute is first; the
 * last one is incomplete.
 */
export function lastHour(counted: Iterable<MinuteCounts>, now: number): MinuteStats[] {
  const newest = Math.floor(now / MINUTE_MS);
  const sums = new Map<number, number[]>();
  for (const { at, counts } of counted) {
    // Another node's clock may be a little ahead.
    const number = Math.floor(at / MINUTE_MS) - (at === (newest + 1) * MINUTE_MS ? 1 : 0);
    const before = sums.get(number);
    sums.set(number, before ? before.map((sum, index) => sum + (counts[index] ?? 0)) : counts);
  }
  return Array.from({ length: MINUTES }, (_, index) => {
    const number = newest - MINUTES + 1 + index;
    return minuteStats(number * MINUTE_MS, sums.get(number) ?? []);
  });
}

function minuteStats(at: number, counts: readonly number[]): MinuteStats {
  const times = counts.slice(TIMES);
  const attempts = times.reduce((sum, count) => sum + count, 0);
  return {
    at,
    delivered: counts[DELIVERED] ?? 0,
    dropped: counts[DROPPED] ?? 0,
    failed: counts[FAILED] ?? 0,
    retried: counts[RETRIED] ?? 0,
    attempts,
    ...(attempts > 0 && { p50Ms: quantile(times, 0.5), p99Ms: quantile(times, 0.99) }),
  };
}

/**
 * Estimates a quantile of the durations of delivery attempts from their histogram: the upper bound
 * of the bucket that holds it.
 */
function quantile(times: readonly number[], fraction: number): number {
  const rank = Math.ceil(fraction * times.reduce((sum, count) => sum + count, 0));
  let seen = 0;
  const bucket = times.findIndex((count) => {
    seen += count;
    return seen >= rank;
  });
  return Math.round(BUCKETS_MS[bucket] ?? 0);
}
