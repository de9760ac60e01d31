import type { Live } from "../../catalog/live.ts";
import { settingsOfSource } from "../../catalog/source-settings.ts";
import { KeyedMutex } from "../../concurrency/keyed-mutex.ts";
import type { DurableRange, LogReader } from "../../log/event-log.ts";
import { DEDUP_IDS_OF_SOURCE_MAX, DEDUP_MARKS_MAX } from "../../settings/limits.ts";
import type { RepetitionLot, RepetitionRow } from "../ledger/repetition-table.ts";
import { type IdBudget, type Occurrence, RecentIds } from "./recent-ids.ts";
import { keyOfLot, RepetitionMarks } from "./repetition-marks.ts";
import { SearchStart, type SearchStartParts } from "./search-start.ts";
import { type SentEvent, SentEventReader } from "./sent-event-reader.ts";

export interface RepetitionsParts extends SearchStartParts {
  live: Pick<Live, "sourceById" | "topology" | "longestDedupSeconds">;
  /** Limit on the messageIds that all partitions of this node keep together. */
  budget: IdBudget;
  /** Counts an event of the source that repeats an earlier one. */
  onRepeated(sourceId: string): void;
  marksMax?: number;
}

/** Key of the lock that each search takes, so that one search runs at a time. */
const SEARCH = "search";

/**
 * Finds repetitions in the logs of one partition (the events of some users). A repetition is an
 * event whose messageId the same source has already sent within its deduplication window
 * (`dedupSeconds`). A delivery that sends the earlier event skips the repetition.
 *
 * Repetitions are stored before any delivery can read their records, so that all deliveries agree,
 * also after a restart. If a limit has made the search forget a messageId, the next event with it
 * is delivered again.
 */
export class Repetitions {
  readonly #start: SearchStart;
  readonly #mutex = new KeyedMutex();
  /** Source id → deduplication window in ms (0: none), as of the catalog version `#topology`. */
  readonly #windows = new Map<string, number>();
  #topology: number | undefined;
  readonly #ids = new Map<string, RecentIds>();
  /** Log → position below which all records were searched. Has only logs whose search has begun. */
  readonly #searched = new Map<string, number>();
  /** Log → end of the log's new records, as the last call of `wake` gave it. */
  readonly #announced = new Map<string, number>();
  /** Copy in memory of the repetitions (repeated events) that are stored in the ledger. */
  readonly #marks = new RepetitionMarks();
  /**
   * Repetitions that were found and are not yet stored in the ledger, in lots. Each lot will be one
   * row of the ledger.
   */
  #unstored: RepetitionLot[] = [];
  readonly #events = new SentEventReader((sourceId) => this.#windowOf(sourceId) > 0);
  /**
   * Names of the logs that are being searched. The search of one log can start searches of others;
   * it skips the logs in this set, because damaged records could otherwise cause an endless
   * recursion.
   */
  readonly #active = new Set<string>();
  #storedPositions = "";

  constructor(private readonly parts: RepetitionsParts) {
    this.#start = new SearchStart(parts);
    for (const lot of parts.ledger.repetitions.lots()) this.#marks.add(lot);
  }

  /**
   * Returns the previous occurrence of a record's messageId if the record is a stored repetition;
   * otherwise undefined.
   */
  previousOf(log: string, sequence: number): Occurrence | undefined {
    return this.#marks.get(log, sequence);
  }

  /**
   * Searches a log for repeated events up to `next`, the end of a chunk, if a source in the chunk
   * has deduplication. Resolves when the repetitions are stored in the ledger (store of delivery
   * progress); rejects if this fails.
   */
  async search(
    log: string,
    { from, next, sources }: { from: number; next: number; sources: ReadonlySet<string> },
  ): Promise<void> {
    this.#refreshWindows();
    const isNeeded = sources.values().some((id) => this.#windowOf(id) > 0);
    const searched = this.#searched.get(log);
    if (!isNeeded) {
      // The records need no search, so that reading may continue behind them.
      const isNext = searched !== undefined && from <= searched && searched < next;
      if (isNext && !this.#active.has(log)) this.#searched.set(log, next);
      return;
    }
    if (searched !== undefined && searched >= next && this.#unstored.length === 0) return;
    await this.#mutex.run(SEARCH, async () => {
      await this.#searchTo(log, next, from);
      await this.#store();
    });
  }

  /**
   * Notes new records: those in `range` or, without it, possibly records of any log and source.
   * Records in `range` count as searched without being read, if their sources have no deduplication
   * and all older records of the log were searched.
   */
  wake(range?: DurableRange): void {
    if (range === undefined) {
      this.#announced.clear();
      return;
    }
    const { log, end, sources } = range;
    const before = this.#announced.get(log);
    this.#announced.set(log, end);
    if (before === undefined || this.#searched.get(log) !== before) return;
    if (!this.#active.has(log) && !this.#mayNeed(sources)) this.#searched.set(log, end);
  }

  /** Whether one of the sources may have deduplication. True while the catalog cannot be read. */
  #mayNeed(sources: readonly string[]): boolean {
    try {
      this.#refreshWindows();
      return sources.some((id) => this.#windowOf(id) > 0);
    } catch {
      return true;
    }
  }

  /**
   * Stores the positions that the search has reached, so that a restart searches few records again.
   * Deletes the stored repetitions whose records the logs have deleted.
   */
  async checkpoint(): Promise<void> {
    if (this.#searched.size === 0) return;
    await this.#mutex.run(SEARCH, async () => {
      const positions = JSON.stringify([...this.#searched]);
      const hasTrimmed = this.#marks.hasBefore((name) => this.#firstOf(name));
      if (positions !== this.#storedPositions || hasTrimmed) await this.#store(true);
    });
  }

  /**
   * Returns the position from which a log must keep its records, because a restart reads the
   * messageIds within the longest deduplication window again. Returns Infinity when no source has
   * deduplication or the log is unknown.
   */
  async neededFrom(log: string): Promise<number> {
    const { live, readers } = this.parts;
    const reader = readers.get(log);
    if (live.longestDedupSeconds() === 0 || reader === undefined) return Number.POSITIVE_INFINITY;
    const since = await this.#start.positionWithin(reader, await this.#start.oldestToSearch());
    return Math.max(since, this.#start.firstOf(reader));
  }

  close(): void {
    for (const ids of this.#ids.values()) ids.clear();
    this.#ids.clear();
  }

  /** Reads the settings of sources again when the catalog has changed. */
  #refreshWindows(): void {
    const topology = this.parts.live.topology();
    if (topology === this.#topology) return;
    this.#topology = topology;
    this.#windows.clear();
    this.#events.forget();
    for (const [id, ids] of this.#ids) {
      if (this.#windowOf(id) > 0) continue;
      ids.clear();
      this.#ids.delete(id);
    }
  }

  #windowOf(sourceId: string): number {
    return this.#windows.getOrInsertComputed(sourceId, () => {
      const { dedupSeconds } = settingsOfSource(this.parts.live.sourceById(sourceId) ?? {});
      return dedupSeconds * 1_000;
    });
  }

  /**
   * Searches a log for repetitions from the position that `#begin` returns up to `end`. `from` is
   * the read position of a delivery, and matters only for a log without a stored position (see
   * `SearchStart.firstUnsearched`).
   */
  async #searchTo(log: string, end: number, from?: number): Promise<void> {
    const reader = this.parts.readers.get(log);
    if (reader === undefined || this.#active.has(log)) return;
    this.#active.add(log);
    try {
      let at = await this.#begin(log, reader, from);
      while (at < end) {
        const { events, knownUpTo } = await this.#events.read(log, reader, at);
        // The newer version that reads the record must also search it.
        const stop = Math.min(knownUpTo, end);
        if (stop <= at) return;
        for (const event of events) {
          const { sequence } = event;
          if (sequence < at) continue;
          if (sequence >= stop) break;
          // This result stays if the read of another log fails.
          this.#searched.set(log, sequence);
          await this.#searchOthers(event);
          this.#searched.set(log, sequence + 1);
          this.#recordIfRepeated(log, event);
        }
        at = stop;
        this.#searched.set(log, at);
      }
    } finally {
      this.#active.delete(log);
    }
  }

  /**
   * Searches each log in `after` for repetitions up to the end that the log had when the given
   * event was received. The given event may repeat one of the older events before this end.
   */
  async #searchOthers({ after = [] }: SentEvent): Promise<void> {
    for (const { log, sequence } of after) {
      const name = `${log}`;
      const end = Math.min(sequence, this.parts.readers.get(name)?.end() ?? 0);
      if ((this.#searched.get(name) ?? 0) < end) await this.#searchTo(name, end);
    }
  }

  #recordIfRepeated(log: string, event: SentEvent): void {
    const { sequence } = event;
    const window = this.#windowOf(event.sourceId);
    // Not while ids are read before the search: an older record of another log may need them.
    this.#ids.get(event.sourceId)?.forgetBefore(event.receivedAt - window);
    const last = this.#note(log, event);
    if (last === undefined || (last.log === log && last.sequence >= sequence)) return;
    if (Math.abs(event.receivedAt - last.receivedAt) > window) return;
    const row: RepetitionRow = [sequence, last.log, last.sequence, last.receivedAt];
    const lot = this.#unstored.at(-1);
    if (lot?.log === log && lot.rows.length < LOT_ROWS_MAX) lot.rows.push(row);
    else this.#unstored.push({ log, rows: [row] });
    this.parts.onRepeated(event.sourceId);
  }

  #note(log: string, event: SentEvent): Occurrence | undefined {
    const { sequence, sourceId, messageId, receivedAt } = event;
    const make = () => new RecentIds(DEDUP_IDS_OF_SOURCE_MAX, this.parts.budget);
    const ids = this.#ids.getOrInsertComputed(sourceId, make);
    const last = ids.note(messageId, { log, sequence, receivedAt });
    // An occurrence in a log that was read further remains the last one.
    if (last !== undefined && last.receivedAt > receivedAt) ids.note(messageId, last);
    return last;
  }

  /**
   * Returns the position from which the search for repetitions in a log continues. The first call
   * for a log also reads the messageIds of older records, to compare later events with them.
   */
  async #begin(log: string, reader: LogReader, from?: number): Promise<number> {
    const searched = this.#searched.get(log);
    if (searched !== undefined) return Math.max(searched, this.#start.firstOf(reader));
    const at = await this.#start.firstUnsearched(log, reader, from);
    await this.#readIds(log, reader, await this.#start.firstNeeded(reader, at), at);
    this.#searched.set(log, at);
    return at;
  }

  /** Reads the messageIds of the records from `start` to `end` (exclusive), without searching. */
  async #readIds(log: string, reader: LogReader, start: number, end: number): Promise<void> {
    for (let at = start; at < end; ) {
      const { events, next } = await this.#events.read(log, reader, at);
      if (next <= at) return;
      for (const event of events) {
        if (event.sequence >= at && event.sequence < end) this.#note(log, event);
      }
      at = next;
    }
  }

  /**
   * Stores the repetitions that were found, and the positions that the search has reached. When no
   * repetition was found, stores the positions only if `always` is true.
   */
  async #store(always = false): Promise<void> {
    const found = this.#unstored;
    if (found.length === 0 && !always) return;
    const { ledger, marksMax = DEDUP_MARKS_MAX } = this.parts;
    const removed = this.#marks.surplus(found, marksMax, (log) => this.#firstOf(log));
    const positions = { ...ledger.repetitions.positions(), ...Object.fromEntries(this.#searched) };
    const text = JSON.stringify([...this.#searched]);
    await ledger.repetitions.put(found, removed.map(keyOfLot), positions);
    this.#storedPositions = text;
    this.#unstored = this.#unstored.slice(found.length);
    this.#marks.remove(removed);
    for (const lot of found) this.#marks.add(lot);
  }

  #firstOf(log: string): number {
    return this.parts.readers.get(log)?.first() ?? 0;
  }
}

/** Largest number of repetitions in one row of the ledger. */
const LOT_ROWS_MAX = 1_000;
