import { TimeSlicer } from "../../concurrency/time-slicer.ts";
import type { BuiltEvent } from "../../event/built-event.ts";
import { eventOf, messageIdOf } from "../../event/event.ts";
import { createFinder, type EventQuery } from "../../event/finder.ts";
import { decodeRecord, type EventRecord, isNewerRecord, timeOfRecord } from "../../event/record.ts";
import type { LogReader } from "../../log/event-log.ts";
import type { Positions } from "../../log/positions.ts";
import { positionAt } from "../../log/time-search.ts";
import { SEARCH_ANSWER_BYTES_MAX, SEARCH_BYTES_MAX, SEARCH_MS_MAX } from "../../settings/limits.ts";
import type { Clock } from "../clock.ts";
import type { LogInput } from "../model/input-event.ts";
import { ReverseScan } from "./reverse-scan.ts";

/**
 * Reasons why a search stops before the beginning of the logs: the maximum number of events
 * (`limit`), size of the answer (`size`), scanned bytes (`bytes`) or run time (`time`) is reached.
 */
export const searchStopReasons = ["limit", "size", "bytes", "time"] as const;
type SearchStopReason = (typeof searchStopReasons)[number];

export interface SearchQuery extends EventQuery {
  /** Whether the search should return events of the source with the id `sourceId`. */
  isSource(sourceId: string): boolean;
  /** Maximum number of events to return. */
  limit: number;
  /** Maximum bytes of records to scan. Absent: `SEARCH_BYTES_MAX`. */
  scannedBytesMax?: number;
  /**
   * Log → position from which to continue an earlier search that stopped. Absent for a search that
   * begins at the ends of the logs.
   */
  rest?: Positions;
}

export interface FoundEvent
  extends Pick<LogInput, "sequence" | "sourceId" | "receivedAt" | "messageId" | "event"> {
  /** Name of the log that has the event. */
  log: string;
  /** Why the event was refused at its ingestion; absent for other events. */
  refused?: string;
}

export interface SearchResult {
  /** The events that were found, newest first. */
  events: FoundEvent[];
  /**
   * The bound that stopped the search, and the log positions to continue from. Absent when the
   * search is complete.
   */
  stopped?: { by: SearchStopReason; rest: Positions };
  /**
   * Time in milliseconds since the Unix epoch; the result is complete from this time on. After a
   * complete search, it is the query's `from`, if any. After a stopped search, undefined means that
   * nothing was scanned.
   */
  reachedAt: number | undefined;
  /** Whether the scanned range has records that only a newer pixelmill version can read. */
  hasNewer: boolean;
}

interface SearchParts {
  /** Readers of all event logs, by log name. */
  readers: ReadonlyMap<string, LogReader>;
  clock: Pick<Clock, "elapsed">;
  /** Builds the event of a record, in the form that the event has before user code runs over it. */
  eventOf(record: EventRecord): BuiltEvent;
}

/**
 * Creates the function that searches all event logs, newest events first unless a clock was set
 * back. A search that reaches a bound returns the positions to continue from; repeated calls reach
 * the beginning of the logs. The function rejects with the signal's reason when the signal is
 * aborted.
 */
export function createSearch(parts: SearchParts) {
  const { readers, clock } = parts;
  const slicer = new TimeSlicer();

  /**
   * Builds the event of a record. If the event was refused at its ingestion, returns it as the
   * client sent it.
   */
  function shownEvent(record: EventRecord): BuiltEvent {
    const isRefused = record.format === "json" && record.refused !== undefined;
    return isRefused ? eventOf(record) : parts.eventOf(record);
  }

  /**
   * Creates a scan for each log. `onNewer` is called for each record in the query's time range that
   * a newer version wrote and that this version cannot read.
   */
  async function begin(query: SearchQuery, onNewer: () => void): Promise<ReverseScan[]> {
    const finds = createFinder(query, query.isSource, shownEvent);
    const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = query;
    const isWanted = (record: Uint8Array) => {
      if (!isNewerRecord(record)) return finds(record);
      const time = timeOfRecord(record);
      if (time >= from && time < to) onNewer();
      return false;
    };
    const shared = { isWanted, timeOf: timeOfRecord, countMax: query.limit, slicer };
    const logs: ReverseScan[] = [];
    for (const [log, reader] of readers) {
      const range = await rangeOf(log, reader, query);
      logs.push(new ReverseScan({ log, reader, range, ...shared }));
    }
    return logs;
  }

  function exhausted(
    logs: readonly ReverseScan[],
    startedAt: number,
    { scannedBytesMax = SEARCH_BYTES_MAX }: SearchQuery,
  ): SearchStopReason | undefined {
    const bytes = logs.reduce((sum, log) => sum + log.bytes, 0);
    if (bytes >= scannedBytesMax) return "bytes";
    return clock.elapsed() - startedAt >= SEARCH_MS_MAX ? "time" : undefined;
  }

  return async (query: SearchQuery, signal: AbortSignal): Promise<SearchResult> => {
    const startedAt = clock.elapsed();
    let hasNewer = false;
    const logs = await begin(query, () => {
      hasNewer = true;
    });
    const page = new Page(query.limit);
    for (;;) {
      // The log whose scan has come least far into the past.
      const next = best(logs, (log) => (log.isDone ? undefined : log.reachedAt));
      const bound = next?.reachedAt ?? Number.NEGATIVE_INFINITY;
      let by = emit(logs, bound, page, shownEvent);
      if (by === undefined && next === undefined) {
        return { events: page.events, reachedAt: query.from, hasNewer };
      }
      if (page.isFull) by ??= "limit";
      if (bound < Number.POSITIVE_INFINITY) by ??= exhausted(logs, startedAt, query);
      if (by !== undefined) return { ...stopped(by, logs, page, bound), hasNewer };
      await next?.step(signal);
    }
  };
}

/**
 * Returns the range of a log's positions to scan. It begins at the first record within the query's
 * time range. It ends after the last one, or where an earlier search stopped (`rest`).
 */
async function rangeOf(name: string, reader: LogReader, { from, to, rest }: SearchQuery) {
  const end = Math.min(reader.end(), rest === undefined ? Infinity : (rest[name] ?? 0));
  if (end <= reader.first()) return { low: end, high: end };
  const low = from === undefined ? 0 : await positionAt(reader, from, timeOfRecord);
  const high = to === undefined ? end : await positionAt(reader, to, timeOfRecord);
  return { low, high: Math.min(end, high) };
}

/**
 * Moves hits (matching records) with times at or after `bound` from the scans to the page, newest
 * first. If the page has no room for the next hit, returns `limit` (number of events) or `size`
 * (bytes); otherwise undefined.
 */
function emit(
  logs: readonly ReverseScan[],
  bound: number,
  page: Page,
  eventOf: SearchParts["eventOf"],
): SearchStopReason | undefined {
  for (;;) {
    const newest = withNewestHit(logs);
    const hit = newest?.head;
    if (hit === undefined || hit.time < bound) return undefined;
    if (page.isFull) return "limit";
    const record = decodeRecord(hit.record);
    const event = eventOf(record);
    if (!page.hasRoom(event)) return "size";
    const { sourceId, receivedAt } = record;
    const messageId = messageIdOf(record, event);
    const { log } = newest!;
    const refused = record.format === "json" ? record.refused : undefined;
    const found = { log, sequence: hit.sequence, sourceId, receivedAt, messageId, event };
    page.add({ ...found, ...(refused !== undefined && { refused }) });
    newest!.take();
  }
}

/** Events of one search result, bounded by their number and by their bytes. */
class Page {
  readonly events: FoundEvent[] = [];
  #bytes = 0;

  constructor(readonly limit: number) {}

  get isFull(): boolean {
    return this.events.length >= this.limit;
  }

  hasRoom({ json }: BuiltEvent): boolean {
    return this.events.length === 0 || this.#bytes + json.length <= SEARCH_ANSWER_BYTES_MAX;
  }

  add(found: FoundEvent): void {
    this.events.push(found);
    this.#bytes += found.event.json.length;
  }
}

function stopped(
  by: SearchStopReason,
  logs: readonly ReverseScan[],
  page: Page,
  bound: number,
): Omit<SearchResult, "hasNewer"> {
  const rest: Record<string, number> = {};
  for (const log of logs) if (log.rest !== undefined) rest[log.log] = log.rest;
  const waiting = withNewestHit(logs)?.head?.time ?? Number.NEGATIVE_INFINITY;
  const reachedAt = Math.max(bound, waiting);
  return {
    events: page.events,
    stopped: { by, rest },
    reachedAt: Number.isFinite(reachedAt) ? reachedAt : undefined,
  };
}

function withNewestHit(logs: readonly ReverseScan[]): ReverseScan | undefined {
  return best(logs, (log) => log.head?.time);
}

function best(logs: readonly ReverseScan[], of: (log: ReverseScan) => number | undefined) {
  let best: { log: ReverseScan; value: number } | undefined;
  for (const log of logs) {
    const value = of(log);
    if (value !== undefined && (best === undefined || value > best.value)) best = { log, value };
  }
  return best?.log;
}
