import { existsSync } from "node:fs";
import { makeDirectory } from "../disk/sync.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { LOG_PENDING_BYTES_MAX } from "../settings/limits.ts";
import { LogUnavailable, type LogWriter, type RecordCodec } from "./event-log.ts";
import { Batcher, type FlushBatch } from "./flush-batch.ts";
import { lockDirectory } from "./lock.ts";
import type { Gap } from "./loss-report.ts";
import { type WriterMetrics, writerMetrics } from "./metrics.ts";
import { recover } from "./recovery.ts";
import { recordRefused } from "./refused-records.ts";
import {
  abandonSegment,
  closeSegment,
  createSegment,
  probeSegment,
  removeSegment,
  type SegmentFile,
  writeBlocks,
} from "./segment/segment-file.ts";
import { type Segment, segmentOf } from "./segment/segments.ts";

/** A segment that is larger is followed by the next one; trimming deletes whole segments. */
export const LOG_SEGMENT_BYTES_MAX = 64 << 20;
/**
 * Longest delay of a flush by records that keep coming, counted from the start of the last flush.
 */
const LOG_GATHER_MS = 1;
/** Pause between two attempts to end an old segment that nothing is written to. */
const LOG_SUCCEED_MS = 1_000;
/** Pause between two attempts to write to a disk that failed. */
const LOG_PROBE_MS = 250;

/** When a segment is followed by the next one. */
export interface SegmentBounds {
  /** The log's own bound when absent. */
  segmentBytesMax?: number | undefined;
  /**
   * Time after its first block at which a segment is followed, also when nothing more comes: what
   * is kept for a time must not stay because a segment does not fill. Absent: no such time.
   */
  segmentMsMax?: number | undefined;
}

export interface LogWriterOptions<T> extends SegmentBounds {
  /** Created when it does not exist; this process must be its only writer. */
  directory: string;
  codec: RecordCodec<T>;
  logger: Logger;
  metrics?: Metrics;
  /** Sequence numbers below this one are taken, as whoever has read the log knows. */
  first?: number;
  /**
   * Called when the log ends below `first`: the records that had the numbers between are missing.
   */
  onMissing?(gap: Gap): void;
  /** Called after `durable` or `healthy` moved, before any record's promise settles. */
  onChange?(): void;
}

/**
 * Opens a log for writing: takes its lock, cuts a torn tail, starts a new segment. Throws
 * `StartError` when another process keeps the lock, and what the file system throws.
 */
export async function openLogWriter<T>(options: LogWriterOptions<T>): Promise<LogWriter<T>> {
  makeDirectory(options.directory);
  const unlock = await lockDirectory(options.directory);
  try {
    const end = await recover(options.directory, options.logger);
    const next = Math.max(end, options.first ?? 0);
    if (next > end) options.onMissing?.({ from: end, to: next });
    const segment = await createSegment(options.directory, next);
    return new SegmentLogWriter(options, segment, unlock);
  } catch (error) {
    unlock();
    throw error;
  }
}

/**
 * Group commit: while one batch is written the next one fills; it is written when the last batch is
 * on disk and no more records come in. A batch that the disk did not take is rejected and never
 * tried again. Its sequence numbers are given to no other record, so that whatever the disk kept of
 * the batch cannot be mistaken for something else. Then a new segment is tried, at once and every
 * `LOG_PROBE_MS`; between these attempts appends are refused.
 */
class SegmentLogWriter<T> implements LogWriter<T> {
  readonly #options: LogWriterOptions<T>;
  readonly #segmentBytesMax: number;
  readonly #unlock: () => void;
  readonly #metrics: WriterMetrics | undefined;
  readonly #batcher: Batcher<T>;
  /** Undefined while the disk fails. */
  #segment: SegmentFile | undefined;
  /** The newest segment while it holds no block; the next segment replaces it. */
  #empty: Segment | undefined;
  #durable: number;
  #healthy = true;
  #closed = false;
  #flushingBytes = 0;
  /** When the last flush began. */
  #flushedAt = Number.NEGATIVE_INFINITY;
  /** Set while batches are written or a new segment is tried. */
  #running: Promise<void> | undefined;
  #probe: ReturnType<typeof setTimeout> | undefined;
  /** Runs out when the segment that is written is too old. */
  #ageing: ReturnType<typeof setTimeout> | undefined;
  #isOld = false;

  constructor(options: LogWriterOptions<T>, segment: SegmentFile, unlock: () => void) {
    this.#options = options;
    this.#segmentBytesMax = options.segmentBytesMax ?? LOG_SEGMENT_BYTES_MAX;
    this.#unlock = unlock;
    this.#metrics = options.metrics && writerMetrics(options.metrics);
    this.#metrics?.healthy.set(1);
    this.#batcher = new Batcher(options.codec, segment.first);
    this.#segment = segment;
    this.#empty = segment;
    this.#durable = segment.first;
  }

  durable(): number {
    return this.#durable;
  }

  healthy(): boolean {
    return this.#healthy;
  }

  append(record: T): Promise<void> {
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      this.#metrics?.rejected.inc();
      return Promise.reject(new LogUnavailable(refusal));
    }
    let appended: Promise<void>;
    try {
      appended = this.#batcher.add(record);
    } catch (error) {
      return Promise.reject(error);
    }
    this.#running ??= this.#run();
    return appended;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#probe);
    clearTimeout(this.#ageing);
    await this.#running;
    if (this.#segment !== undefined) await closeSegment(this.#segment);
    this.#unlock();
  }

  #refusal(): string | undefined {
    if (this.#closed) return "The event log is closed";
    if (this.#segment === undefined && this.#running === undefined) return "The disk failed";
    if (this.#flushingBytes + this.#batcher.waiting.bytes >= LOG_PENDING_BYTES_MAX) {
      return "Too many records wait for the disk";
    }
    return undefined;
  }

  /**
   * Writes batches until none waits. The last steps have no `await`, so that no append slips in
   * between.
   */
  async #run(): Promise<void> {
    do {
      try {
        this.#segment ??= await this.#startAgain();
      } catch (error) {
        this.#refuseWaiting(error);
        break;
      }
      await this.#gather();
      await this.#flush();
    } while (this.#segment === undefined || this.#batcher.waiting.blocks.length > 0);
    this.#running = undefined;
  }

  /**
   * Waits while turns of the event loop bring more records, but not beyond `LOG_GATHER_MS` after
   * the last flush began. A flush costs 0.05 to 0.15 ms of CPU whatever its size, and on a quick
   * disk each few requests of a crowd would pay for one (16 connections: 17.4 µs of CPU a pixel
   * without the wait, 16.1 with it). When no record comes, nothing waits.
   */
  async #gather(): Promise<void> {
    const until = this.#flushedAt + LOG_GATHER_MS;
    let count: number;
    do {
      count = this.#batcher.waiting.count;
      await new Promise(setImmediate);
    } while (this.#batcher.waiting.count > count && performance.now() < until);
  }

  async #flush(): Promise<void> {
    if (this.#batcher.waiting.blocks.length === 0) return;
    const batch = this.#batcher.take();
    this.#flushingBytes = batch.bytes;
    this.#flushedAt = performance.now();
    try {
      await this.#write(batch);
      this.#durable = batch.end;
      this.#options.onChange?.();
      this.#metrics?.records.inc(batch.count);
      this.#metrics?.bytes.inc(batch.bytes);
      this.#metrics?.flushSeconds.observe((performance.now() - this.#flushedAt) / 1000);
      batch.resolve();
    } catch (error) {
      this.#reject(batch, error);
      await this.#abandon();
    }
    this.#flushingBytes = 0;
    this.#batcher.recycle(batch);
  }

  async #write(batch: FlushBatch): Promise<void> {
    const segment = this.#segment!;
    const isFull = segment.end + batch.bytes > this.#segmentBytesMax;
    if (segment.end > 0 && (isFull || this.#isOld)) {
      this.#segment = await createSegment(this.#options.directory, batch.first);
      await closeSegment(segment);
    }
    await writeBlocks(this.#segment!, batch.seal(this.#segment!.end));
    if (this.#empty !== undefined || this.#segment !== segment) this.#age();
    this.#empty = undefined;
  }

  /** The segment that is written has its first block. */
  #age(): void {
    this.#isOld = false;
    clearTimeout(this.#ageing);
    const { segmentMsMax } = this.#options;
    if (segmentMsMax !== undefined && !this.#closed) this.#growOld(segmentMsMax);
  }

  /** Once the segment is old, the next batch begins a new one, and without a batch `#succeed`. */
  #growOld(ms: number): void {
    this.#ageing = setTimeout(() => {
      this.#isOld = true;
      // A segment that was begun after a failure ages from its own first block on.
      if (this.#segment === undefined || this.#segment.end === 0) return;
      if (this.#running === undefined) this.#running = this.#succeed(this.#segment);
      else this.#growOld(LOG_SUCCEED_MS);
    }, ms);
  }

  /** Lets an empty segment follow the one that is written, while no batch is. */
  async #succeed(old: SegmentFile): Promise<void> {
    const { directory, logger } = this.#options;
    const next = segmentOf(directory, this.#batcher.next);
    try {
      this.#segment = await createSegment(directory, next.first);
      this.#empty = this.#segment;
      await closeSegment(old);
    } catch (error) {
      logger.warn({ err: error, directory }, "The event log cannot begin its next segment");
      await removeSegment(next);
      // Records that follow must not lie in a segment before the one that has their name.
      if (existsSync(next.path)) await this.#abandon();
      else this.#growOld(LOG_SUCCEED_MS);
    }
    if (this.#segment === undefined || this.#batcher.waiting.blocks.length > 0) await this.#run();
    else this.#running = undefined;
  }

  async #abandon(): Promise<void> {
    const segment = this.#segment!;
    this.#segment = undefined;
    if (segment.end === 0) this.#empty = segment;
    await abandonSegment(segment);
  }

  /** Starts a new segment on a disk that has just taken a block. */
  async #startAgain(): Promise<SegmentFile> {
    const { waiting, next } = this.#batcher;
    const first = waiting.blocks.length > 0 ? waiting.first : next;
    const segment = await createSegment(this.#options.directory, first);
    // The empty segment is removed only now: the newest name tells a later start where sequence
    // numbers go on.
    if (this.#empty !== undefined && this.#empty.first !== first) await removeSegment(this.#empty);
    this.#empty = segment;
    try {
      await probeSegment(segment);
      // Readers miss none of the refused numbers.
      const refused = { from: this.#durable, to: first };
      if (first > this.#durable) recordRefused(this.#options.directory, refused);
    } catch (error) {
      await abandonSegment(segment);
      throw error;
    }
    this.#options.logger.info({ path: segment.path }, "The event log can be written again");
    this.#setHealthy(true);
    return segment;
  }

  #refuseWaiting(error: unknown): void {
    const batch = this.#batcher.take();
    this.#reject(batch, error);
    this.#batcher.recycle(batch);
    if (this.#closed) return;
    this.#probe = setTimeout(() => {
      this.#running ??= this.#run();
    }, LOG_PROBE_MS);
  }

  #reject(batch: FlushBatch, error: unknown): void {
    if (this.#healthy) {
      const context = { err: error, directory: this.#options.directory };
      this.#options.logger.error(context, "The event log cannot be written");
    }
    this.#setHealthy(false);
    this.#metrics?.rejected.inc(batch.count);
    batch.reject(new LogUnavailable("The disk failed", { cause: error }));
  }

  #setHealthy(healthy: boolean): void {
    if (this.#healthy === healthy) return;
    this.#healthy = healthy;
    this.#metrics?.healthy.set(healthy ? 1 : 0);
    this.#options.onChange?.();
  }
}
