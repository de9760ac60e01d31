import { messageOf } from "../errors.ts";
import type { Logger } from "../observe/log.ts";
import type { FigureTables, NodeRow } from "./figure-tables.ts";
import { COUNTED_MINUTES, MINUTE_MS } from "./minute-counters.ts";
import { type FigureRow, mergeNodes } from "./row.ts";
import { RECORDED, type Series } from "./series.ts";

/** Longest time in milliseconds after a minute's end at which a node stores the minute. */
const SPREAD_MS = 10_000;
/** Time in milliseconds for which rows that were collected for a reader are reused. */
const COLLECTED_MS = 1_000;

interface FigureRecorderParts {
  /** Returns the stored figures; undefined while the store of a cluster cannot be opened. */
  tables(): FigureTables | undefined;
  /** Returns what this node counted in the minute that began at the time `at`, without its lag. */
  collect(at: number): ReadonlyMap<Series, FigureRow>;
  /** Returns the rows with the current lag of this node's lanes, which `collect` leaves out. */
  collectLag(): Promise<ReadonlyMap<Series, FigureRow>>;
  /** Share of all partitions whose events this node delivers now. */
  share(): number;
  now(): number;
  logger: Logger;
}

/**
 * Stores what this node counted, once a minute. A minute that cannot be stored waits for a few
 * minutes and is then dropped, so that readers see a gap. A crash loses the current minute, and the
 * last one if it was not stored yet.
 */
export class FigureRecorder {
  readonly #parts: FigureRecorderParts;
  /** Id of this process in its rows. */
  readonly recorder = crypto.randomUUID().slice(0, 8);
  /** Start of the oldest minute that was not collected for the store yet. */
  #next: number;
  readonly #startedAt: number;
  /** Rows of past minutes that are not stored yet, by the start of the minute. */
  readonly #waiting = new Map<number, NodeRow[]>();
  #collected: { at: number; rows: NodeRow[] } | undefined;
  #lag: ReadonlyMap<Series, FigureRow> = new Map();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isFailing = false;
  #isClosed = false;
  #running: Promise<void> = Promise.resolve();

  /** Returns the stored figures; undefined while the store of a cluster cannot be opened. */
  readonly tables: () => FigureTables | undefined;

  constructor(parts: FigureRecorderParts) {
    this.tables = parts.tables;
    this.#parts = parts;
    this.#startedAt = parts.now();
    this.#next = minuteOf(this.#startedAt);
  }

  /** Starts to store the figures after the end of each minute. */
  start(): void {
    if (this.#isClosed) return;
    const now = this.#parts.now();
    // Nodes store at different times, so that their transactions do not conflict.
    const waitMs = minuteOf(now) + MINUTE_MS - now + Math.random() * SPREAD_MS;
    this.#timer = setTimeout(() => {
      this.#running = this.step().finally(() => this.start());
    }, waitMs);
    this.#timer.unref();
  }

  /** Stores the minutes that have ended, and packs or deletes some old rows. Never rejects. */
  async step(): Promise<void> {
    const now = this.#parts.now();
    try {
      this.#lag = await this.#parts.collectLag();
      this.#collectUntil(minuteOf(now), now);
      const tables = this.#parts.tables();
      if (tables === undefined) return;
      await this.#store(tables);
      await tables.tidy(now);
      if (this.#isFailing) this.#parts.logger.info("figures are stored again");
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) {
        this.#parts.logger.warn({ reason: messageOf(error) }, "figures are not stored; retrying");
      }
      this.#isFailing = true;
    } finally {
      this.#dropOld(now);
    }
  }

  /**
   * Returns this node's rows of the series that are not stored yet, up to the current minute, and
   * the time for which they were recorded.
   */
  unwritten(series: readonly Series[]): NodeRow[] {
    const now = this.#parts.now();
    const wanted = new Set([...series, RECORDED]);
    if (this.#collected === undefined || Math.abs(now - this.#collected.at) >= COLLECTED_MS) {
      const rows: NodeRow[] = [];
      for (let at = this.#next; at <= now; at += MINUTE_MS) rows.push(...this.#rows(at, now));
      this.#collected = { at: now, rows };
    }
    const rows = [...this.#waiting.values()].flat().concat(this.#collected.rows);
    return rows.filter((row) => wanted.has(row.series));
  }

  /** Stores everything that was counted so far, if the store works, and stops. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
    const now = this.#parts.now();
    const tables = this.#parts.tables();
    this.#collectUntil(now, now);
    if (tables === undefined) return;
    await this.#store(tables).catch((error) => {
      this.#parts.logger.warn(
        { reason: messageOf(error) },
        "figures of the last minute not stored at the stop",
      );
    });
  }

  /** Collects the minutes that began before `until` and were not collected yet. */
  #collectUntil(until: number, now: number): void {
    // The counters do not go back further. Anything counted before is lost, and is a gap.
    this.#next = Math.max(this.#next, minuteOf(now) - (COUNTED_MINUTES - 1) * MINUTE_MS);
    for (; this.#next < until; this.#next += MINUTE_MS) {
      this.#waiting.set(this.#next, this.#rows(this.#next, now));
    }
    this.#collected = undefined;
  }

  #rows(at: number, now: number): NodeRow[] {
    const { collect, share } = this.#parts;
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

  #dropOld(now: number): void {
    for (const at of this.#waiting.keys()) {
      if (now - at > COUNTED_MINUTES * MINUTE_MS) this.#waiting.delete(at);
    }
  }
}

const minuteOf = (ms: number) => Math.floor(ms / MINUTE_MS) * MINUTE_MS;
