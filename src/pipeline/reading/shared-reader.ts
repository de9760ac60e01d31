import { assert } from "../../assert.ts";
import { type EventRecord, NewerRecordError, timeOfRecord } from "../../event/record.ts";
import type { LogReader } from "../../log/event-log.ts";
import type { Positions } from "../../log/positions.ts";
import type { Logger } from "../../observe/log.ts";
import type { BuiltEvent, LogInput } from "../model/input-event.ts";
import type { LaneMetrics } from "../monitoring/metrics.ts";
import type { Occurrence } from "../repetitions/recent-ids.ts";
import type { Repetitions } from "../repetitions/repetitions.ts";
import type { HeldRecords } from "./held-records.ts";
import { EventCache, RecordInput } from "./input.ts";

/** Largest size in bytes of one read from a log. */
const SHARED_READ_BYTES_MAX = 256 << 10;
/**
 * Number of decoded chunks that are cached per log, for deliveries that reach the same records
 * later.
 */
export const KEPT_READS_MAX = 8;

/**
 * The decoded records of one log with sequence numbers from `from`, inclusive, to `next`,
 * exclusive.
 */
export interface LogChunk {
  from: number;
  next: number;
  inputs: readonly LogInput[];
  /**
   * Ids of the sources that have records in the chunk. Deliveries that need none of these sources
   * skip the chunk.
   */
  sources: ReadonlySet<string>;
  /**
   * Time of receipt of the record at `next`, if a newer version of pixelmill wrote it; otherwise
   * undefined. Readers stop at such a record: a read at the position `next` returns a chunk with
   * the same `next`.
   */
  newerAt: number | undefined;
}

export interface SharedReaderParts {
  /** Log name → reader of this log. Readers of more logs may be added later. */
  readers: ReadonlyMap<string, LogReader>;
  decode(bytes: Uint8Array): EventRecord;
  eventOf(record: EventRecord): BuiltEvent;
  logger: Logger;
  metrics: Pick<LaneMetrics, "unreadable">;
}

/** The part of `Repetitions` that finds records with a repeated messageId. */
export type RepetitionSearch = Pick<Repetitions, "search" | "previousOf">;

/**
 * View of a `SharedReader` that has only some of the logs, such as those of one partition (the
 * events of some users).
 */
export type LogSet = ReturnType<SharedReader["subset"]>;

/**
 * Reads the event logs for all lanes (deliveries to one destination each). Lanes share the reads,
 * the decoded records and the built events, because most lanes need the same records at the same
 * time.
 */
export class SharedReader {
  readonly #events: EventCache;
  readonly #kept = new Map<string, LogChunk[]>();
  readonly #announced = new Map<string, number>();
  /** Log → receipt time of the record at `announcedEnd(log)`, if a newer pixelmill wrote it. */
  readonly #held = new Map<string, number>();
  readonly #reading = new Map<string, Promise<LogChunk>>();

  constructor(private readonly parts: SharedReaderParts) {
    this.#events = new EventCache(parts.eventOf);
  }

  /**
   * Returns a view of the logs in `readers` that shares this reader's caches.
   * - `repetitions`: searches the records of a read for repeated events before the read resolves.
   * - `held`: gets the position of each record that stops a read because a newer pixelmill wrote
   *   it.
   */
  subset(
    readers: { keys(): Iterable<string> },
    repetitions?: RepetitionSearch,
    held?: Pick<HeldRecords, "note">,
  ) {
    const readerOf = (log: string) => this.parts.readers.get(log);
    const end = (log: string) => readerOf(log)?.end() ?? 0;
    return {
      names: () => [...readers.keys()],
      /**
       * Sets the announced end of a log to `sequence`. Idle deliveries skip all records below it,
       * so the caller must first wake each delivery that needs one of them.
       * - `newerAt`: time of receipt of the record at `sequence`, if only a newer pixelmill can
       *   read it. The caller must then announce no later end.
       */
      setAnnouncedEnd: (log: string, sequence: number, newerAt?: number): void => {
        assert(sequence <= end(log), "An announced end is at or below the durable end of its log");
        this.#announced.set(log, sequence);
        if (newerAt === undefined) this.#held.delete(log);
        else this.#held.set(log, newerAt);
      },
      announcedEnd: (log: string) => this.#announced.get(log) ?? 0,
      /**
       * Time of receipt of the record at `announcedEnd(log)` if deliveries wait before this record
       * because a newer version of pixelmill wrote it; otherwise undefined.
       */
      heldSince: (log: string) => this.#held.get(log),
      /** Sequence number of the oldest record that the log still holds; 0 for an unknown log. */
      first: (log: string) => readerOf(log)?.first() ?? 0,
      end,
      /** Approximate number of records from position `from` to position `to`. */
      countBetween: (log: string, from: number, to: number) =>
        readerOf(log)?.countBetween(from, to) ?? 0,
      /**
       * Returns the chunk with the first record at or after `sequence`; undefined at the end of the
       * log. A chunk ends before a record that only a newer pixelmill can read. A read at such a
       * record returns a chunk whose `next` is `sequence`.
       */
      read: async (log: string, sequence: number): Promise<LogChunk | undefined> => {
        const chunk = await this.#chunkAt(log, sequence);
        if (chunk !== undefined) await repetitions?.search(log, chunk);
        if (chunk?.newerAt !== undefined) held?.note(log, chunk.next);
        return chunk;
      },
      /**
       * Returns the length of the event's JSON in bytes. When no event can be built from the
       * record, counts and logs the record as unreadable, and returns undefined.
       */
      sizeOf: (log: string, input: LogInput): number | undefined => {
        try {
          return input.event.json.length;
        } catch (error) {
          this.#unreadable(log, input.sequence, error);
          return undefined;
        }
      },
      /**
       * Returns the position of an earlier record that has the messageId of the record at
       * `sequence`, as found by `repetitions`; undefined if there is none.
       */
      previousOf: (log: string, sequence: number): Occurrence | undefined =>
        repetitions?.previousOf(log, sequence),
    };
  }

  /** For each log, the sequence number after its last durable record. */
  ends(): Positions {
    return Object.fromEntries([...this.parts.readers].map(([log, r]) => [log, r.end()]));
  }

  async #chunkAt(log: string, sequence: number): Promise<LogChunk | undefined> {
    const reader = this.parts.readers.get(log);
    if (reader === undefined || sequence >= reader.end()) return undefined;
    const kept = this.#kept
      .get(log)
      ?.find((c) => c.from <= sequence && sequence < c.next + Number(c.newerAt !== undefined));
    if (kept !== undefined) return kept;
    const key = `${log} ${sequence}`;
    const read = () => this.#read(log, reader, sequence);
    try {
      return await this.#reading.getOrInsertComputed(key, read);
    } finally {
      this.#reading.delete(key);
    }
  }

  async #read(log: string, reader: LogReader, sequence: number): Promise<LogChunk> {
    const endBefore = reader.end();
    const read = await reader.read(sequence, SHARED_READ_BYTES_MAX);
    const inputs: LogInput[] = [];
    const sources = new Set<string>();
    let { next } = read;
    let newerAt: number | undefined;
    let end = 0;
    for (const record of read.records) {
      assert(record.sequence >= end, "Sequence numbers of records ascend");
      const input = this.#decode(log, record.sequence, record.bytes);
      // Records before `sequence` are in the same block, and the lanes have passed them.
      if (input === "newer" && record.sequence >= sequence) {
        next = record.sequence;
        newerAt = timeOfRecord(record.bytes);
        break;
      }
      end = record.sequence + 1;
      if (input === undefined || input === "newer") continue;
      if (input.sourceId !== inputs.at(-1)?.sourceId) sources.add(input.sourceId);
      inputs.push(input);
    }
    // The end of a log that lost records is lower than before.
    const durableEnd = Math.max(endBefore, reader.end());
    assert(end <= next && end <= durableEnd, "A record that is read is durable");
    const chunk = { from: sequence, next, inputs, sources, newerAt };
    const kept = this.#kept.get(log) ?? [];
    this.#kept.set(log, [...kept, chunk].slice(-KEPT_READS_MAX));
    return chunk;
  }

  #decode(log: string, sequence: number, bytes: Uint8Array): LogInput | "newer" | undefined {
    try {
      const record = this.parts.decode(bytes);
      // A record that was refused at its ingestion is kept for display, and is never delivered.
      if (record.format === "json" && record.refused !== undefined) return undefined;
      return new RecordInput(sequence, record, this.#events);
    } catch (error) {
      if (error instanceof NewerRecordError) return "newer";
      this.#unreadable(log, sequence, error);
      return undefined;
    }
  }

  /**
   * Counts and logs a record that cannot be decoded. Because its checksum was right, only a bug can
   * be the cause. The record is not delivered.
   */
  #unreadable(log: string, sequence: number, error: unknown): void {
    this.parts.metrics.unreadable.inc({ log });
    this.parts.logger.error({ log, sequence, err: error }, "cannot decode a record");
  }
}

/**
 * Returns the index of the first record in `inputs` (in ascending order) whose sequence number is
 * at least `sequence`.
 */
export function firstAtOrAfter(inputs: readonly { sequence: number }[], sequence: number): number {
  let low = 0;
  let high = inputs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (inputs[middle]!.sequence < sequence) low = middle + 1;
    else high = middle;
  }
  return low;
}
