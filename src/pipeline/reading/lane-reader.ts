import type { Connection } from "../../catalog/model.ts";
import type { LogEnd } from "../../event/record.ts";
import { createLaneEvent, EVENT_OVERHEAD_BYTES, type LaneEvent } from "../model/lane-event.ts";
import type { CursorRecord, DeliveryIntent, LaneRecord } from "../model/lane-record.ts";
import { covers, firstCovered, firstToRead, type Routes } from "../model/routes.ts";
import { Cursor } from "./cursor.ts";
import { LivePeriods } from "./live-periods.ts";
import { firstAtOrAfter, type LogChunk, type LogSet } from "./shared-reader.ts";

/**
 * Reads the logs for one lane, the delivery to one destination. Takes each record of the lane's
 * connections once. Skips repetitions of earlier records, and records that cannot be read.
 */
export class LaneReader {
  readonly #cursors = new Map<string, Cursor>();
  readonly #stored: Readonly<Record<string, CursorRecord>>;
  readonly #periods: LivePeriods;
  /** Log → chunk (decoded records) of which `take` has taken a part; kept for the next `take`. */
  readonly #chunks = new Map<string, LogChunk>();
  /** Batched delivery that a crash or stop cut off; while set, `take` returns only its events. */
  recovering: DeliveryIntent | undefined;
  #routes: Routes;
  #nextLog = 0;
  /** Whether the lane has read all logs to their ends and was not woken since then. */
  #isIdle = false;
  /**
   * Log → time of receipt of the log's next record. Has only logs in which the lane waits before a
   * record that only a newer pixelmill can read. While the map has entries, the lane skips no
   * records without reading them.
   */
  readonly held = new Map<string, number>();

  /**
   * Creates a reader that continues from the stored state `record`. With `repeated`, a delivery
   * that a crash or stop interrupted, `take` returns only its events until `endRecovery` is called.
   */
  constructor(
    private readonly logs: LogSet,
    routes: Routes,
    record: LaneRecord | undefined,
    repeated?: DeliveryIntent | undefined,
  ) {
    this.#routes = routes;
    this.#stored = record?.logs ?? {};
    this.recovering = repeated;
    this.#periods = new LivePeriods(record?.known ?? {}, (id) =>
      this.#cursors.values().some((cursor) => cursor.isBackfilling(id)),
    );
    this.setRoutes(routes);
  }

  /** Ends the recovery: `take` then also returns events outside the interrupted delivery. */
  endRecovery(): void {
    this.recovering = undefined;
  }

  /** Applies changed connections. Moves the position back if a connection needs older records. */
  setRoutes(routes: Routes): void {
    this.wake();
    this.#routes = routes;
    for (const log of this.logs.names()) this.#cursor(log);
    const { begun, ended } = this.#periods.update(
      new Map([...routes.bySource.values()].map((connection) => [connection.id, connection])),
    );
    for (const { connection, known } of begun) {
      for (const [log, cursor] of this.#cursors) {
        cursor.backfill(connection.id, firstCovered(connection, log, known));
      }
    }
    for (const id of ended) {
      for (const cursor of this.#cursors.values()) cursor.cancelBackfill(id);
    }
  }

  /** Tells the reader that the logs may have new records, which the next `take` then reads. */
  wake(): void {
    this.#skipAnnounced();
    this.#isIdle = false;
  }

  /**
   * Takes up to `count` events and about `bytesMax` bytes; an empty list when none can be taken at
   * present. An event waits for older events in other logs (see `InputEvent.after`), so that each
   * user's events stay in order.
   */
  async take(count: number, bytesMax: number): Promise<LaneEvent[]> {
    this.wake();
    const logs = this.logs.names();
    let triedAt: number | undefined;
    for (;;) {
      const events = await this.#takeRoundRobin(count, bytesMax);
      // From here on, new records of the lane's sources wake it, and an idle lane skips the others.
      // Records that were announced during the read woke no lane; so the lane reads again, unless
      // the read has not moved its position.
      const isAhead = this.recovering === undefined && logs.every((log) => this.#isAhead(log));
      this.#isIdle = events.length === 0 && isAhead && this.held.size === 0;
      const at = logs.reduce((sum, log) => sum + this.#cursor(log).position, 0);
      if (events.length > 0 || this.#isIdle || at === triedAt) return events;
      triedAt = at;
    }
  }

  /** Whether the lane has read a log up to its announced end (see `setAnnouncedEnd`). */
  #isAhead(log: string): boolean {
    return this.logs.announcedEnd(log) <= this.#cursor(log).position;
  }

  async #takeRoundRobin(count: number, bytesMax: number): Promise<LaneEvent[]> {
    const events: LaneEvent[] = [];
    const logs = this.logs.names();
    let bytes = 0;
    // Number of logs in a row that gave no events and whose position did not move.
    for (let still = 0; still < 2 * logs.length && events.length < count; still++) {
      // All logs can wait for each other only when ends are wrong, such as those of a damaged log,
      // or when the lane stops in one of them.
      const inOrder = still < logs.length || this.held.size > 0;
      if (!inOrder && events.length > 0) break;
      const log = logs[this.#nextLog++ % logs.length]!;
      const from = this.#cursor(log).position;
      try {
        const taken = await this.#takeFrom(log, count - events.length, bytesMax - bytes, inOrder);
        for (const event of taken.events) bytes += event.bytes;
        events.push(...taken.events);
        if (events.length > 0 && (!taken.isHeld || bytes >= bytesMax)) break;
      } catch (error) {
        // Events that were taken must not be lost because a later read fails.
        if (events.length === 0) throw error;
        break;
      }
      if (this.#cursor(log).position !== from) still = -1;
    }
    return events;
  }

  /**
   * Whether the lane has read all records of its sources, and all events that it took have final
   * outcomes. A log in which a record of a newer pixelmill version stops the lane counts as read.
   */
  get isSettled(): boolean {
    const isRead = (log: string) => this.held.has(log) || this.#isAhead(log);
    if (!this.#isIdle && !(this.held.size > 0 && this.logs.names().every(isRead))) return false;
    return this.#cursors.values().every((cursor) => cursor.isSettled);
  }

  /** Earliest time of receipt in `held`; undefined when `held` is empty. */
  get oldestAt(): number | undefined {
    return this.held.size === 0 ? undefined : Math.min(...this.held.values());
  }

  settle(log: string, sequence: number): void {
    this.#cursor(log).settle(sequence);
  }

  record(): LaneRecord {
    this.#skipAnnounced();
    const logs: Record<string, CursorRecord> = { ...this.#stored };
    for (const [log, cursor] of this.#cursors) logs[log] = cursor.record();
    return { logs, known: this.#periods.record() };
  }

  /**
   * Notes that the read positions are on disk. `lows` has for each log the stored position: the log
   * may delete the records below it.
   */
  committed(lows: ReadonlyMap<string, number>): void {
    for (const [log, low] of lows) this.#cursors.get(log)?.committed(low);
  }

  lows(): Map<string, number> {
    return new Map([...this.#cursors].map(([log, cursor]) => [log, cursor.low]));
  }

  /** Lowest sequence number to read after a restart; undefined for a log that is not read yet. */
  durableLow(log: string): number | undefined {
    return this.#cursors.get(log)?.durableLow;
  }

  /** Approximate number of records from the oldest one without an outcome to the logs' ends. */
  lagEvents(): number {
    this.#skipAnnounced();
    const lags = this.logs.names().map((log) => {
      const low = this.#cursors.get(log)?.low ?? 0;
      return this.logs.countBetween(log, low, this.logs.end(log));
    });
    return lags.reduce((sum, lag) => sum + lag, 0);
  }

  /**
   * Moves an idle lane to the announced end of each log. The skipped records are not for this lane:
   * a record for the lane wakes it before the end is announced (see `setAnnouncedEnd`).
   */
  #skipAnnounced(): void {
    if (!this.#isIdle) return;
    for (const [log, cursor] of this.#cursors) {
      const announced = this.logs.announcedEnd(log);
      if (announced > cursor.position) cursor.advanceTo(announced);
    }
  }

  #cursor(log: string): Cursor {
    return this.#cursors.getOrInsertComputed(log, () => {
      const next = firstToRead(log, [...this.#routes.bySource.values()], this.logs);
      return new Cursor(this.#stored[log] ?? { next, pending: [] });
    });
  }

  /**
   * Takes events from one log. In the result, `isHeld` is true if the log's next record has to
   * wait: until other logs were read further, or until an interrupted delivery is recovered.
   */
  async #takeFrom(
    log: string,
    count: number,
    bytesMax: number,
    inOrder: boolean,
  ): Promise<{ events: LaneEvent[]; isHeld: boolean }> {
    const events: LaneEvent[] = [];
    const cursor = this.#cursor(log);
    const end = this.recovering ? (this.recovering.ends[log] ?? 0) : Number.POSITIVE_INFINITY;
    let isHeld = false;
    // At most one chunk gives events: events that were taken must not be lost because the next read
    // fails.
    while (events.length === 0 && !isHeld) {
      const at = cursor.position;
      const chunk = this.#taken(log, at) ?? (await this.logs.read(log, at));
      if (chunk?.newerAt !== undefined && chunk.next === at) this.held.set(log, chunk.newerAt);
      else this.held.delete(log);
      if (chunk === undefined || chunk.next <= at) break;
      // A connection was added during the read, and starts at a lower position.
      if (cursor.position !== at) continue;
      if (!this.#concerns(chunk.sources)) {
        cursor.advanceTo(chunk.next);
        continue;
      }
      let bytes = 0;
      let index = firstAtOrAfter(chunk.inputs, at);
      for (; index < chunk.inputs.length && events.length < count && bytes < bytesMax; index++) {
        const input = chunk.inputs[index]!;
        const { sequence } = input;
        if (sequence >= end) {
          isHeld = true;
          break;
        }
        const connection = this.#routes.bySource.get(input.sourceId);
        if (connection === undefined || !wanted(cursor, connection, log, sequence)) continue;
        if (this.#isRepeated(connection, log, sequence)) continue;
        isHeld = inOrder && this.#waits(input.after);
        if (isHeld) break;
        const size = this.logs.sizeOf(log, input);
        if (size === undefined) continue;
        cursor.take(sequence);
        bytes += size;
        const origin = { log, sequence, connectionId: connection.id };
        const { receivedAt: retryWindowStart } = input;
        const heldBytes = size + EVENT_OVERHEAD_BYTES;
        events.push(createLaneEvent({ input, origin, retryWindowStart, bytes: heldBytes }));
      }
      const stopped = chunk.inputs[index];
      if (stopped === undefined) this.#chunks.delete(log);
      else this.#chunks.set(log, chunk);
      cursor.advanceTo(stopped?.sequence ?? chunk.next);
    }
    return { events, isHeld };
  }

  /**
   * Whether a record waits, because some log in `after` was not yet read up to the end given there.
   */
  #waits(after: readonly LogEnd[] = []): boolean {
    return after.some(({ log, sequence }) => {
      const end = Math.min(sequence, this.logs.end(String(log)));
      return end > 0 && this.#cursor(String(log)).position < end;
    });
  }

  /** Whether the connection delivers an earlier record with the messageId of this record. */
  #isRepeated(connection: Connection, log: string, sequence: number): boolean {
    const previous = this.logs.previousOf(log, sequence);
    return previous !== undefined && covers(connection, previous.log, previous.sequence);
  }

  /** Returns the kept chunk of a log (see `#chunks`) if it contains the record at `sequence`. */
  #taken(log: string, sequence: number): LogChunk | undefined {
    const chunk = this.#chunks.get(log);
    return chunk && chunk.from <= sequence && sequence < chunk.next ? chunk : undefined;
  }

  #concerns(sources: ReadonlySet<string>): boolean {
    for (const source of this.#routes.bySource.keys()) if (sources.has(source)) return true;
    return false;
  }
}

function wanted(cursor: Cursor, connection: Connection, log: string, sequence: number): boolean {
  return cursor.wants(sequence, connection.id) && covers(connection, log, sequence);
}
