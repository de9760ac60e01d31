import { closeSync, openSync, statSync } from "node:fs";
import { makeDirectory } from "../disk/sync.ts";
import { codeOf } from "../errors.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { BlockCache, type CachedBlock } from "./block-cache.ts";
import type { LogPart, LogReader, LogRecord } from "./event-log.ts";
import { expectReadable, readOrPassOver } from "./io/unreadable.ts";
import { tryTrimming } from "./lock.ts";
import { LossReport } from "./loss-report.ts";
import { countRefusedWithin } from "./refused-records.ts";
import { type BlockRun, type BlockRunRange, readBlockRun } from "./segment/block-run.ts";
import { deleteSegment } from "./segment/delete-segment.ts";
import { type IndexEntry, SegmentIndex } from "./segment/segment-index.ts";
import { listSegments, type Segment } from "./segment/segments.ts";

/** Bytes that a reader reads of a segment at once. */
const LOG_READ_WINDOW_BYTES = 256 << 10;
/**
 * Segments whose places a reader remembers, those it used last; the places of one that was read to
 * its end take about 50 KB.
 */
export const LOG_INDEXED_SEGMENTS_MAX = 64;

export interface LogReaderOptions {
  /** Created when it does not exist. Its writer may be another process. */
  directory: string;
  logger: Logger;
  metrics?: Metrics;
  /** Is told of missing records; all readers of a server share it. */
  losses?: LossReport;
  /** Where the log ends now, if that can be known sooner than by `advance`. */
  durable?(): number;
}

/** Opens a log for reading. The reader reads nothing before `advance` has told what is durable. */
export async function openLogReader(options: LogReaderOptions): Promise<LogReader> {
  makeDirectory(options.directory);
  return new SegmentLogReader(options);
}

interface KnownSegment extends Segment {
  index: SegmentIndex;
  /** Offsets of damage that was reported. */
  damage: Set<number>;
  /** The segment's size, once a newer segment is there: from then on it does not grow. */
  bytes?: number;
}

/** A block to hand out, or the position from which to search on. */
type Lookup = CachedBlock | number;

class SegmentLogReader implements LogReader {
  readonly #options: LogReaderOptions;
  readonly #losses: LossReport;
  readonly #cache = new BlockCache();
  /** Searches under way, by position: lanes that wake together share one search. */
  readonly #looks = new Map<number, Promise<Lookup>>();
  #segments: KnownSegment[] = [];
  /** The segments whose places are remembered, the one used last at the end. */
  readonly #indexed = new Set<KnownSegment>();
  #end: number;

  constructor(options: LogReaderOptions) {
    this.#options = options;
    this.#losses = options.losses ?? new LossReport(options);
    this.#list();
    this.#end = this.first();
  }

  first(): number {
    return this.#segments[0]?.first ?? 0;
  }

  end(): number {
    if (this.#options.durable !== undefined) this.advance(this.#options.durable());
    return this.#end;
  }

  advance(sequence: number): void {
    this.#end = Math.max(this.#end, sequence);
  }

  countBetween(from: number, to: number): number {
    return Math.max(0, to - from);
  }

  async read(sequence: number, bytesMax: number): Promise<{ records: LogRecord[]; next: number }> {
    const records: LogRecord[] = [];
    let next = Math.max(sequence, this.first());
    let bytes = 0;
    while (next < this.end() && (records.length === 0 || bytes < bytesMax)) {
      const found = this.#cache.get(next) ?? (await this.#look(next));
      if (typeof found === "number") {
        if (found === next) break;
        next = found;
      } else {
        for (const record of found.records) if (record.sequence >= next) records.push(record);
        bytes += found.bytes.length;
        next = found.end;
      }
    }
    return { records, next };
  }

  async trim(sequence: number, stop?: AbortSignal): Promise<void> {
    while (!stop?.aborted) {
      this.#list();
      const [oldest, next] = this.#segments;
      // The newest segment stays although it may be trimmed: its name tells the writer's next start
      // where numbers go on.
      if (oldest === undefined || next === undefined || next.first > sequence) break;
      const unlock = tryTrimming(this.#options.directory);
      if (unlock === undefined) break;
      this.#segments.shift();
      this.#indexed.delete(oldest);
      try {
        await deleteSegment(oldest, () => Promise.allSettled(this.#looks.values()));
      } finally {
        unlock();
      }
    }
    this.#losses.forget(this.#options.directory, this.first());
  }

  parts(): LogPart[] {
    this.#list();
    const newest = this.#segments.at(-1);
    return this.#segments.map((segment) => {
      const bytes = segment.bytes ?? statSync(segment.path, { throwIfNoEntry: false })?.size ?? 0;
      if (segment !== newest) segment.bytes = bytes;
      return { first: segment.first, bytes };
    });
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#looks.values());
  }

  #look(position: number): Promise<Lookup> {
    const known = this.#looks.get(position);
    if (known !== undefined) return known;
    const look = this.#find(position).finally(() => this.#looks.delete(position));
    this.#looks.set(position, look);
    return look;
  }

  /** The block that holds `position`, or the next block after it. The position must be durable. */
  async #find(position: number): Promise<Lookup> {
    let segment = this.#segmentOf(position);
    let place = segment && this.#indexOf(segment).floor(position);
    while (segment !== undefined && place !== undefined) {
      const stretch = await this.#stretch(segment, place);
      if (stretch === undefined) return this.#find(position);
      const found = this.#pick(segment, stretch, position);
      if (found !== undefined) return found;
      const last = stretch.blocks.at(-1);
      if (last !== undefined) {
        place = { sequence: last.end, offset: stretch.end };
      } else {
        segment = this.#after(segment);
        if (segment !== undefined) this.#indexOf(segment);
        place = segment && { sequence: segment.first, offset: 0 };
      }
    }
    // The records were durable, so a segment was removed or damaged by somebody else.
    return this.#passOver(position, this.#end);
  }

  /**
   * What a stretch holds for `position`; undefined when the search must go on behind the stretch.
   */
  #pick(segment: KnownSegment, stretch: BlockRun, position: number): Lookup | undefined {
    let found: CachedBlock | undefined;
    let offset = stretch.start;
    for (const block of stretch.blocks) {
      if (block.end > this.#end) {
        return found ?? this.#passOver(position, Math.min(block.first, this.#end));
      }
      offset += block.bytes.length;
      segment.index.note({ sequence: block.end, offset });
      if (block.end <= position) continue;
      const cached = this.#cache.add(block);
      if (found === undefined) this.#passOver(position, block.first);
      found ??= cached;
    }
    return found;
  }

  /**
   * Reads a stretch of a segment. Undefined when the segment is gone: it was trimmed, or it was
   * empty and its writer replaced it.
   */
  async #stretch(segment: KnownSegment, place: IndexEntry): Promise<BlockRun | undefined> {
    let fd: number;
    try {
      fd = openSync(segment.path, "r");
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
      this.#list();
      return undefined;
    }
    try {
      const { sequence: sequenceMin, offset } = place;
      const range = { offset, sequenceMin, bytesMax: LOG_READ_WINDOW_BYTES };
      const stretch = await readOrPassOver(
        this.#options.directory,
        () => readBlockRun(fd, range),
        () => this.#readPast(segment, fd, range),
      );
      if (stretch.damaged > 0) this.#tellDamage(segment, offset, stretch.damaged);
      return stretch;
    } finally {
      closeSync(fd);
    }
  }

  /**
   * Passes over a place that the disk cannot give back, provided that the disk gives back what lies
   * behind it.
   */
  async #readPast(segment: KnownSegment, fd: number, range: BlockRunRange): Promise<BlockRun> {
    const stretch = await readBlockRun(fd, { ...range, pastErrors: true });
    const isFollowed = stretch.blocks.length > 0;
    const behind = isFollowed ? segment : this.#after(segment);
    if (behind === undefined) throw new Error(`The end of ${segment.path} cannot be read`);
    await expectReadable(behind.path, isFollowed ? stretch.start : 0);
    return stretch;
  }

  #indexOf(segment: KnownSegment): SegmentIndex {
    this.#indexed.delete(segment);
    this.#indexed.add(segment);
    const [unused] = this.#indexed;
    if (this.#indexed.size > LOG_INDEXED_SEGMENTS_MAX && unused !== undefined) {
      unused.index = new SegmentIndex(unused.first);
      this.#indexed.delete(unused);
    }
    return segment.index;
  }

  #segmentOf(position: number): KnownSegment | undefined {
    if (this.#segments.length === 0) this.#list();
    return this.#segments.findLast(({ first }) => first <= position) ?? this.#segments[0];
  }

  #after(segment: Segment): KnownSegment | undefined {
    const later = ({ first }: Segment) => first > segment.first;
    if (!this.#segments.some(later)) this.#list();
    return this.#segments.find(later);
  }

  /**
   * Takes up which segments the directory holds now, and keeps the indexes of those that were there
   * before.
   */
  #list(): void {
    const known = new Map(this.#segments.map((segment) => [segment.first, segment]));
    this.#segments = listSegments(this.#options.directory).map(
      (segment) =>
        known.get(segment.first) ?? {
          ...segment,
          index: new SegmentIndex(segment.first),
          damage: new Set(),
        },
    );
  }

  #tellDamage(segment: KnownSegment, offset: number, bytes: number): void {
    if (segment.damage.has(offset)) return;
    segment.damage.add(offset);
    this.#losses.damaged(this.#options.directory, segment.path, offset, bytes);
  }

  /**
   * Goes on from `to`, and reports the numbers before it that should have a record and have none.
   */
  #passOver(from: number, to: number): number {
    if (to <= from) return from;
    const { directory } = this.#options;
    const missing = to - from - countRefusedWithin(directory, { from, to });
    if (missing > 0) this.#losses.missing(directory, { from, to }, missing);
    return to;
  }
}
