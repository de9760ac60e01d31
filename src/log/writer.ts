import { existsSync } from "node:fs";
import { assert } from "../assert.ts";
import { makeDirectory } from "../disk/sync.ts";
import { LOG_PENDING_BYTES_MAX } from "../settings/limits.ts";
import { LogUnavailable, type LogWriter } from "./event-log.ts";
import { Batcher, type FlushBatch } from "./flush-batch.ts";
import { lockDirectory } from "./lock.ts";
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
import {
  LOG_GATHER_MS,
  LOG_PROBE_MS,
  LOG_ROTATE_RETRY_MS,
  LOG_SEGMENT_BYTES_MAX,
  type LogWriterOptions,
} from "./writer-options.ts";

/**
 * Opens a log for writing: locks its directory, truncates an incomplete last block, starts a
 * segment. Throws the file system's errors, and `StartError` if another process holds the lock.
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
 * Writes records to segment files in batches; records that are appended during a write go into the
 * next batch. If a write fails, rejects its batch, and refuses appends until a new segment can be
 * started. Never reuses the batch's sequence numbers, because the disk may contain a part of it.
 */
class SegmentLogWriter<T> implements LogWriter<T> {
  readonly #options: LogWriterOptions<T>;
  readonly #segmentBytesMax: number;
  readonly #unlock: () => void;
  readonly #metrics: WriterMetrics | undefined;
  readonly #batcher: Batcher<T>;
  /** Segment that is being written. Undefined from a failed write until another segment starts. */
  #segment: SegmentFile | undefined;
  /** Newest segment while it has no block. Its file is removed once another segment replaces it. */
  #emptySegment: Segment | undefined;
  #durable: number;
  #failure: unknown;
  #closed = false;
  #flushingBytes = 0;
  /** Time of `performance.now()` at which the last flush began. */
  #flushedAt = Number.NEGATIVE_INFINITY;
  /** The loop that writes batches or starts a segment; undefined while the writer is idle. */
  #running: Promise<void> | undefined;
  #probe: ReturnType<typeof setTimeout> | undefined;
  /** Timer that fires when the current segment reaches `segmentMsMax`. */
  #ageTimer: ReturnType<typeof setTimeout> | undefined;
  #isOld = false;

  constructor(options: LogWriterOptions<T>, segment: SegmentFile, unlock: () => void) {
    this.#options = options;
    this.#segmentBytesMax = options.segmentBytesMax ?? LOG_SEGMENT_BYTES_MAX;
    this.#unlock = unlock;
    this.#metrics = options.metrics && writerMetrics(options.metrics);
    this.#metrics?.healthy.set(1);
    this.#batcher = new Batcher(options.codec, segment.first);
    this.#segment = segment;
    this.#emptySegment = segment;
    this.#durable = segment.first;
  }

  durable(): number {
    return this.#durable;
  }

  healthy(): boolean {
    return this.#failure === undefined;
  }

  failure(): unknown {
    return this.#failure;
  }

  append(record: T): Promise<void> {
    return this.appendAll([record]);
  }

  appendAll(records: readonly T[]): Promise<void> {
    const refusal = this.#refusal();
    if (refusal !== undefined) {
      this.#metrics?.rejected.inc(records.length);
      return Promise.reject(new LogUnavailable(refusal));
    }
    try {
      const appended = this.#batcher.add(records);
      this.#running ??= this.#run();
      return appended;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#probe);
    clearTimeout(this.#ageTimer);
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
   * Writes batches until no record waits. It awaits nothing between its last check for waiting
   * records and its end, so that no record can be added in between and stay unwritten.
   */
  async #run(): Promise<void> {
    do {
      try {
        this.#segment ??= await this.#reopen();
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
   * Waits for more records until a turn of the event loop brings none, but at most until
   * `LOG_GATHER_MS` after the start of the last flush. (With 16 connections, a pixel takes 16.1 µs
   * of CPU time with this wait, and 17.4 µs without it.)
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
    assert(this.#flushingBytes === 0, "One flush is in progress at a time");
    assert(batch.first >= this.#durable, "Sequence numbers ascend from flush to flush");
    assert(batch.end <= this.#batcher.next, "Only assigned sequence numbers become durable");
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
    if (segment.end > 0 && (this.#isOld || segment.end + batch.bytes > this.#segmentBytesMax)) {
      this.#segment = await createSegment(this.#options.directory, batch.first);
      await closeSegment(segment);
    }
    await writeBlocks(this.#segment!, batch.seal(this.#segment!.end));
    if (this.#emptySegment !== undefined || this.#segment !== segment) this.#startAge();
    this.#emptySegment = undefined;
  }

  /** Starts the timer for the largest age of a segment whose first block was just written. */
  #startAge(): void {
    this.#isOld = false;
    clearTimeout(this.#ageTimer);
    this.#ageAfter(this.#options.segmentMsMax);
  }

  /** Marks the segment as too old after `ms`; the next batch or `#rotateIdle` then replaces it. */
  #ageAfter(ms: number | undefined): void {
    if (ms === undefined || this.#closed) return;
    this.#ageTimer = setTimeout(() => {
      this.#isOld = true;
      // A segment that was created after a failure gets its own age from its own first block.
      if (this.#segment === undefined || this.#segment.end === 0) return;
      if (this.#running === undefined) this.#running = this.#rotateIdle(this.#segment);
      else this.#ageAfter(LOG_ROTATE_RETRY_MS);
    }, ms);
  }

  /** Replaces a segment that is too old by a new, empty one, while no batch is being written. */
  async #rotateIdle(old: SegmentFile): Promise<void> {
    const { directory, logger } = this.#options;
    const next = segmentOf(directory, this.#batcher.next);
    try {
      this.#segment = await createSegment(directory, next.first);
      this.#emptySegment = this.#segment;
      await closeSegment(old);
    } catch (error) {
      logger.warn({ err: error, directory }, "event log cannot start its next segment");
      await removeSegment(next);
      // Otherwise a batch would lie in a segment before the one that its numbers name.
      if (existsSync(next.path)) await this.#abandon();
      else this.#ageAfter(LOG_ROTATE_RETRY_MS);
    }
    if (this.#segment === undefined || this.#batcher.waiting.blocks.length > 0) await this.#run();
    else this.#running = undefined;
  }

  async #abandon(): Promise<void> {
    const segment = this.#segment!;
    this.#segment = undefined;
    if (segment.end === 0) this.#emptySegment = segment;
    await abandonSegment(segment);
  }

  /** Starts a new segment after a failed write. Rejects if the disk cannot write a test block. */
  async #reopen(): Promise<SegmentFile> {
    const { first } = this.#batcher;
    const segment = await createSegment(this.#options.directory, first);
    // Removed only now: the name of the newest segment tells a later start the next number.
    if (this.#emptySegment !== undefined && this.#emptySegment.first !== first)
      await removeSegment(this.#emptySegment);
    this.#emptySegment = segment;
    try {
      await probeSegment(segment);
      // With this entry, readers do not report the refused records as missing.
      const refused = { from: this.#durable, to: first };
      if (first > this.#durable) recordRefused(this.#options.directory, refused);
    } catch (error) {
      await abandonSegment(segment);
      throw error;
    }
    this.#options.logger.info({ path: segment.path }, "event log can be written again");
    this.#setFailure(undefined);
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
    const { directory, logger } = this.#options;
    if (this.healthy()) logger.error({ err: error, directory }, "event log cannot be written");
    this.#setFailure(error);
    this.#metrics?.rejected.inc(batch.count);
    batch.reject(new LogUnavailable("The disk failed", { cause: error }));
  }

  #setFailure(error: unknown): void {
    this.#failure = error;
    this.#metrics?.healthy.set(error === undefined ? 1 : 0);
    this.#options.onChange?.();
  }
}
