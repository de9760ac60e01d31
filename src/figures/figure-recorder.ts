import { messageOf } from "../errors.ts";
import type { Logger } from "../observe/log.ts";
import type { FigureTables, NodeRow } from "./figure-tables.ts";
import { COUNTED_MINUTES, MINUTE_MS } from "./minute-counters.ts";
import { type FigureRow, mergeNodes } from "./row.ts";
import { RECORDED, type Series } from "./series.ts";

/**
 * Largest random delay in milliseconds between the end of a minute and the time at which a node
 * stores the minute's figures.
 */
const SPREAD_MS = 10_000;
/**
 * Milliseconds from `start` to the first `step`, which reads the lag (undelivered events) of the
 * deliveries to destinations. By then, most of them know their lag.
 */
const FIRST_STEP_MS = 2_000;
/**
 * Milliseconds for which `unwritten` may reuse the rows that it has built from the counters. These
 * are the rows of the current minute, and of ended minutes that `step` has not moved to `#waiting`
 * yet.
 */
const COLLECTED_MS = 1_000;

interface FigureRecorderParts {
  /** Returns the tables of figures; undefined until this process has opened their store. */
  tables(): FigureTables | undefined;
  /**
   * Returns this node's counts of the minute that began at `at`, without the lag of its lanes (a
   * lane is the delivery to one destination).
   */
  collect(at: number): ReadonlyMap<Series, FigureRow>;
  /** Returns rows with the current lag of this node's deliveries to destinations, by series. */
  collectLag(): Promise<ReadonlyMap<Series, FigureRow>>;
  /**
   * Returns this node's share (0 to 1) of all partitions. A node delivers the events of the
   * partitions that it owns.
   */
  share(): number;
  now(): number;
  /**
   * Returns the earliest possible present time in milliseconds since the epoch, because this node's
   * clock may be ahead. The age of stored figures is computed from this time, so that no figures
   * are deleted too early.
   */
  earliestNow(): number;
  logger: Logger;
}

/**
 * Stores the figures (counts, lag and latencies) of this node once a minute. Figures that cannot be
 * stored for several minutes are dropped, and readers see a gap. A crash loses figures not stored
 * yet.
 */
export class FigureRecorder {
  /** Random id of this process. It marks the rows that the process stores. */
  readonly recorder = crypto.randomUUID().slice(0, 8);
  /** Start of the oldest minute whose counts were not moved to `#waiting` yet. */
  #next: number;
  #startedAt: number;
  /** Rows of past minutes that are not stored yet, by the start of the minute. */
  readonly #waiting = new Map<number, NodeRow[]>();
  #collected: { at: number; rows: NodeRow[] } | undefined;
  #lag: ReadonlyMap<Series, FigureRow> = new Map();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isFailing = false;
  #isClosed = false;
  #running: Promise<void> = Promise.resolve();

  /** Returns the tables of figures; undefined until this process has opened their store. */
  readonly tables: () => FigureTables | undefined;

  constructor(private readonly parts: FigureRecorderParts) {
    this.tables = parts.tables;
    this.#startedAt = parts.now();
    this.#next = minuteOf(this.#startedAt);
  }

  /**
   * Calls `step` after `FIRST_STEP_MS`, and then after the end of each minute, until `close`. The
   * first call reads the lag (undelivered events), which is then part of the current minute's
   * figures.
   */
  start(): void {
    this.#stepAfter(FIRST_STEP_MS);
  }

  #stepAfter(waitMs: number): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#running = this.step().finally(() => this.#stepAfter(this.#untilStoringMs()));
    }, waitMs);
    this.#timer.unref();
  }

  #untilStoringMs(): number {
    const now = this.parts.now();
    // Nodes store at different times, so that their transactions do not conflict.
    return minuteOf(now) + MINUTE_MS - now + Math.random() * SPREAD_MS;
  }

  /**
   * Stores the figures of minutes that have ended. Then packs old rows into hours and days, and
   * deletes rows that are too old (`FigureTables.tidy`). Logs errors of the store, and never
   * rejects.
   */
  async step(): Promise<void> {
    const now = this.parts.now();
    try {
      this.#lag = await this.parts.collectLag();
      this.#collectUntil(minuteOf(now), now);
      const tables = this.parts.tables();
      if (tables === undefined) return;
      await this.#store(tables);
      await tables.tidy(this.parts.earliestNow());
      if (this.#isFailing) this.parts.logger.info("figures are stored again");
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) {
        this.parts.logger.warn({ reason: messageOf(error) }, "figures are not stored; retrying");
      }
      this.#isFailing = true;
    } finally {
      this.#dropOld();
    }
  }

  /**
   * Returns this node's rows of the given series that are not stored yet, including those of the
   * current minute. Also returns the rows of the series `RECORDED`, which say for how long this
   * node recorded figures.
   */
  unwritten(series: readonly Series[]): NodeRow[] {
    const now = this.parts.now();
    const wanted = new Set([...series, RECORDED]);
    if (this.#collected === undefined || Math.abs(now - this.#collected.at) >= COLLECTED_MS) {
      const rows: NodeRow[] = [];
      const first = this.#firstCounted(now);
      for (let at = first; at <= now; at += MINUTE_MS) rows.push(...this.#rows(at, now));
      this.#collected = { at: now, rows };
    }
    const rows = [...this.#waiting.values()].flat().concat(this.#collected.rows);
    return rows.filter((row) => wanted.has(row.series));
  }

  /** Stores the figures so far, and stops recording. Drops figures that cannot be stored. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
    const now = this.parts.now();
    const tables = this.parts.tables();
    this.#collectUntil(now, now);
    if (tables === undefined) return;
    await this.#store(tables).catch((error) => {
      const reason = messageOf(error);
      this.parts.logger.warn({ reason }, "figures of the last minute not stored at the stop");
    });
  }

  /** Moves to `#waiting` all counts of minutes that began before `until` and were not moved yet. */
  #collectUntil(until: number, now: number): void {
    this.#next = this.#firstCounted(now);
    if (this.#next > now) {
      // The clock was set back: these minutes are counted again.
      this.#next = minuteOf(now);
      this.#startedAt = Math.min(this.#startedAt, this.#next);
    }
    for (; this.#next < until; this.#next += MINUTE_MS) {
      this.#waiting.set(this.#next, this.#rows(this.#next, now));
    }
    this.#collected = undefined;
  }

  /** Returns the start of the oldest minute that is in the counters and not in `#waiting` yet. */
  #firstCounted(now: number): number {
    // The counters do not go back further. Anything counted before is lost, and is a gap.
    return Math.max(this.#next, minuteOf(now) - (COUNTED_MINUTES - 1) * MINUTE_MS);
  }

  #rows(at: number, now: number): NodeRow[] {
    const { collect, share } = this.parts;
    const rows = new Map(collect(at));
    // The current lag belongs to the last minute that is stored, and to the current one.
    if (now - at < 2 * MINUTE_MS) {
      for (const [series, lag] of this.#lag) {
        rows.set(series, mergeNodes(rows.get(series) ?? [], lag));
      }
    }
    const from = Math.max(at, this.#startedAt);
    const seconds = (Math.min(at + MINUTE_MS, now) - from) / 1_000;
    rows.set(RECORDED, [Math.round(10 * seconds * share()) / 10]);
    const { recorder } = this;
    return [...rows].map(([series, row]) => ({ series, at, recorder, row }));
  }

  async #store(tables: FigureTables): Promise<void> {
    for (const [at, rows] of this.#waiting) {
      await tables.write(rows);
      this.#waiting.delete(at);
    }
  }

  #dropOld(): void {
    const excess = Math.max(0, this.#waiting.size - COUNTED_MINUTES);
    for (const at of [...this.#waiting.keys()].slice(0, excess)) this.#waiting.delete(at);
  }
}

const minuteOf = (ms: number) => Math.floor(ms / MINUTE_MS) * MINUTE_MS;
