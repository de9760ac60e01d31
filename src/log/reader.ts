import { closeSync, openSync, statSync } from "node:fs";
import { assert } from "../assert.ts";
import { makeDirectory } from "../disk/sync.ts";
import { codeOf } from "../errors.ts";
import { type Block, LOG_BLOCK_BYTES_MAX, recordsOf } from "./block.ts";
import { BlockCache } from "./block-cache.ts";
import type { LogPart, LogReader, LogRecord } from "./event-log.ts";
import { expectReadable, readOrPassOver } from "./io/unreadable.ts";
import { tryTrimming } from "./lock.ts";
import type { LossReport } from "./loss-report.ts";
import { countRefusedWithin } from "./refused-records.ts";
import { type BlockRun, type BlockRunRange, readBlockRun } from "./segment/block-run.ts";
import { deleteSegment } from "./segment/delete-segment.ts";
import { type IndexEntry, SegmentIndex } from "./segment/segment-index.ts";
import { listSegments, type Segment } from "./segment/segments.ts";

/** Size in bytes of one read from a segment file. */
const LOG_READ_WINDOW_BYTES = 256 << 10;
/**
 * Maximum number of segments whose index a reader keeps in memory. The least recently used one is
 * dropped first. The index of a segment that was read completely takes 50 KB.
 */
const LOG_INDEXED_SEGMENTS_MAX = 64;

interface LogReaderOptions {
  /** Directory of the log, created when it is missing. Another process may write the log. */
  directory: string;
  /** Receives reports of missing records. All readers of a server share it. */
  losses: LossReport;
  /**
   * Returns the log's current end (the sequence number after the last durable record). Absent if
   * the reader learns the end only from `advance`.
   */
  durable?(): number;
}

/**
 * Opens a log for reading. The reader returns records only up to the end that `advance` or
 * `durable` gives.
 */
export async function openLogReader(options: LogReaderOptions): Promise<LogReader> {
  makeDirectory(options.directory);
  return new SegmentLogReader(options);
}

interface KnownSegment extends Segment {
  index: SegmentIndex;
  /** Offsets in the segment file at which damage was already reported. */
  damage: Set<number>;
  /** Size of the segment file in bytes; undefined for the newest segment, which still grows. */
  bytes?: number;
}

/** Result of a search step: the block found, or the sequence number at which to continue. */
type Lookup = Block | number;

const lookupEnd = (found: Lookup) => (typeof found === "number" ? found : found.end);

class SegmentLogReader implements LogReader {
  /** Blocks that were read last. Since the kernel caches files, a larger cache saves no time. */
  readonly #cache = new BlockCache(LOG_BLOCK_BYTES_MAX);
  /** Running searches, by the sequence number searched for. Equal searches share one promise. */
  readonly #searches = new Map<number, Promise<Lookup>>();
  #segments: KnownSegment[] = [];
  /** Segments whose index is in memory, in order of use. The segment used last is at the end. */
  readonly #indexed = new Set<KnownSegment>();
  #end: number;

  constructor(private readonly options: LogReaderOptions) {
    this.#list();
    this.#end = this.first();
  }

  first(): number {
    return this.#segments[0]?.first ?? 0;
  }

  end(): number {
    if (this.options.durable !== undefined) this.advance(this.options.durable());
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
      const cached = this.#cache.get(next);
      // Otherwise, the next read from the file would return much that this call has no room for.
      if (cached === undefined && bytes > bytesMax / 2) break;
      const found = cached ?? (await this.#search(next));
      assert(lookupEnd(found) >= next, "A search never ends before its position");
      if (typeof found === "number") {
        if (found === next) break;
        next = found;
      } else {
        for (const record of recordsOf(found)) if (record.sequence >= next) records.push(record);
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
      // The newest segment is never deleted, even when it is before `sequence`: its name tells the
      // next writer where sequence numbers continue.
      if (oldest === undefined || next === undefined || next.first > sequence) break;
      const unlock = tryTrimming(this.options.directory);
      if (unlock === undefined) break;
      this.#segments.shift();
      this.#indexed.delete(oldest);
      try {
        await deleteSegment(oldest, () => Promise.allSettled(this.#searches.values()));
      } finally {
        unlock();
      }
    }
    this.options.losses.forget(this.options.directory, this.first());
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
    await Promise.allSettled(this.#searches.values());
  }

  #search(position: number): Promise<Lookup> {
    return this.#searches.getOrInsertComputed(position, () =>
      this.#find(position).finally(() => this.#searches.delete(position)),
    );
  }

  /**
   * Returns the block that contains the record with the number `position`; if this record is
   * missing, the next block. If no block follows before the log's end, returns the sequence number
   * at which reading continues. `position` must be below the log's end.
   */
  async #find(position: number): Promise<Lookup> {
    let segment = this.#segmentOf(position);
    let start = segment && this.#indexOf(segment).floor(position);
    while (segment !== undefined && start !== undefined) {
      const run = await this.#readRun(segment, start);
      if (run === undefined) return this.#find(position);
      const found = this.#pick(segment, run, position);
      if (found !== undefined) return found;
      const last = run.blocks.at(-1);
      if (last !== undefined) {
        start = { sequence: last.end, offset: run.end };
      } else {
        segment = this.#after(segment);
        if (segment !== undefined) this.#indexOf(segment);
        start = segment && { sequence: segment.first, offset: 0 };
      }
    }
    // These records were durable: another process removed or damaged a segment.
    return this.#passOver(position, this.#end);
  }

  /**
   * Searches `run` (consecutive blocks of a segment) for the first block that ends after
   * `position`, and adds the blocks to the segment's index. Returns:
   *
   * - the block found
   * - the sequence number at which reading continues, if that block ends beyond the log's end
   * - undefined, if the search must continue after `run`
   */
  #pick(segment: KnownSegment, run: BlockRun, position: number): Lookup | undefined {
    let found: Block | undefined;
    let offset = run.start;
    for (const block of run.blocks) {
      if (block.end > this.#end) {
        return found ?? this.#passOver(position, Math.min(block.first, this.#end));
      }
      offset += block.bytes.length;
      segment.index.add({ sequence: block.end, offset });
      if (block.end <= position) continue;
      const cached = this.#cache.add(block);
      if (found === undefined) this.#passOver(position, block.first);
      found ??= cached;
    }
    return found;
  }

  /**
   * Reads consecutive blocks of a segment file, beginning at the index entry `start`. Returns
   * undefined if the file no longer exists: either it was trimmed, or it was empty and the log's
   * writer replaced it.
   */
  async #readRun(segment: KnownSegment, start: IndexEntry): Promise<BlockRun | undefined> {
    let fd: number;
    try {
      fd = openSync(segment.path, "r");
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
      this.#list();
      return undefined;
    }
    try {
      const { sequence: sequenceMin, offset } = start;
      const range = { offset, sequenceMin, bytesMax: LOG_READ_WINDOW_BYTES };
      const run = await readOrPassOver(
        this.options.directory,
        () => readBlockRun(fd, range),
        () => this.#readPast(segment, fd, range),
      );
      if (run.damaged > 0) this.#reportDamage(segment, offset, run.damaged);
      return run;
    } finally {
      closeSync(fd);
    }
  }

  /**
   * Reads consecutive blocks and skips bytes that the disk cannot read. Returns a run without
   * blocks if none follows in this segment. Throws unless the disk can read the next block or, if
   * there is none, the start of the next segment.
   */
  async #readPast(segment: KnownSegment, fd: number, range: BlockRunRange): Promise<BlockRun> {
    const run = await readBlockRun(fd, { ...range, pastErrors: true });
    const isFollowed = run.blocks.length > 0;
    const next = isFollowed ? segment : this.#after(segment);
    if (next === undefined) throw new Error(`The end of ${segment.path} cannot be read`);
    await expectReadable(next.path, isFollowed ? run.start : 0);
    return run;
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

  /** Lists the segment files again. Segments that were known before keep their index. */
  #list(): void {
    const known = new Map(this.#segments.map((segment) => [segment.first, segment]));
    this.#segments = listSegments(this.options.directory).map(
      (segment) =>
        known.get(segment.first) ?? {
          ...segment,
          index: new SegmentIndex(segment.first),
          damage: new Set(),
        },
    );
  }

  #reportDamage(segment: KnownSegment, offset: number, bytes: number): void {
    if (segment.damage.has(offset)) return;
    segment.damage.add(offset);
    this.options.losses.damaged(this.options.directory, segment.path, offset, bytes);
  }

  /**
   * Skips the sequence numbers from `position` (inclusive) to `to` (exclusive). Returns the number
   * at which reading continues. Reports the records as missing, except those that were trimmed, and
   * those that the writer refused, because they were never acknowledged.
   */
  #passOver(position: number, to: number): number {
    const from = Math.max(position, this.first());
    if (to <= from) return Math.max(position, to);
    const missing = to - from - countRefusedWithin(this.options.directory, { from, to });
    if (missing > 0) this.options.losses.missing(this.options.directory, { from, to }, missing);
    return to;
  }
}
