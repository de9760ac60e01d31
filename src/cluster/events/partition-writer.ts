import { InvariantError } from "../../assert.ts";
import type { IdempotentProducer } from "../../kafka/idempotent-producer.ts";
import { HEADER_BYTES, sealBlock } from "../../log/block.ts";
import { LogUnavailable, type LogWriter, type RecordCodec } from "../../log/event-log.ts";
import { Batcher, type FlushBatch, type OpenBlock } from "../../log/flush-batch.ts";
import type { WriterMetrics } from "../../log/metrics.ts";
import type { Logger } from "../../observe/log.ts";
import { LOG_PENDING_BYTES_MAX } from "../../settings/limits.ts";
import { sequenceOf } from "./sequence.ts";

/**
 * Milliseconds between two test blocks (blocks without records). A writer sends them after the
 * brokers did not acknowledge a block, to find out when the brokers accept blocks again.
 */
const PROBE_MS = 250;
/**
 * Milliseconds for which a batch of records waits for the brokers' acknowledgement. After this
 * time, the records of the batch are rejected.
 */
const ANSWER_MS_MAX = 10_000;
/**
 * Milliseconds at the end of `ANSWER_MS_MAX` that have a timer of their own. After a suspension of
 * the process, this timer leaves time to read acknowledgements that arrived meanwhile, before
 * records are rejected.
 */
const LATE_READ_MS = 250;
/** Milliseconds without an acknowledgement after which `probe` sends a test block. */
const ACKNOWLEDGED_MS_MAX = 10_000;

export interface PartitionWriterOptions<T> {
  partition: number;
  producer: IdempotentProducer;
  codec: RecordCodec<T>;
  /** Offset after the newest block of the partition that was known at the writer's creation. */
  end: bigint;
  logger: Logger;
  /** Counters shared by the writers of all partitions. */
  metrics?: Omit<WriterMetrics, "healthy">;
  /**
   * Bytes of unacknowledged records at which `append` starts to reject new records. The default is
   * `LOG_PENDING_BYTES_MAX`.
   */
  pendingBytesMax?: number;
  /**
   * Called after the result of `durable` or `healthy` has changed, and after a test block (an empty
   * block) has failed. Also called before the promises of `append` for stored records resolve.
   */
  onChange?(): void;
}

/**
 * Appends records in blocks to a partition, to which other nodes append too. If the brokers do not
 * acknowledge a block, its records are rejected, but may have been written. New records are also
 * rejected, until a test block (an empty block) is acknowledged.
 */
export class PartitionWriter<T> implements LogWriter<T> {
  readonly #batcher: Batcher<T>;
  #durable: number;
  #healthy = true;
  #failure: unknown;
  /** Time of the brokers' last acknowledgement, by `performance.now()`. Absent before the first. */
  #acknowledgedAt: number | undefined;
  #isFaultLogged = false;
  #closed = false;
  #sendingBytes = 0;
  #running: Promise<void> | undefined;
  /** Promise of the last append. It settles after the promises of all earlier appends. */
  #lastAppended = Promise.resolve();
  #probe: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: PartitionWriterOptions<T>) {
    this.#batcher = new Batcher(options.codec, 0);
    this.#durable = sequenceOf(options.end);
  }

  durable(): number {
    return this.#durable;
  }

  healthy(): boolean {
    return this.#healthy;
  }

  failure(): unknown {
    return this.#failure;
  }

  /**
   * Returns whether the brokers acknowledged the last block whose outcome is known. Undefined when
   * no block has an outcome yet.
   */
  acknowledged(): boolean | undefined {
    if (!this.#healthy) return false;
    return this.#acknowledgedAt === undefined ? undefined : true;
  }

  /**
   * Sends an empty test block to find out whether the partition can be written, unless a block is
   * in flight or was acknowledged within `ACKNOWLEDGED_MS_MAX`. Does nothing while `healthy` is
   * false, because the writer then sends test blocks by itself.
   */
  probe(): void {
    if (this.#closed || !this.#healthy) return;
    const ageMs = performance.now() - (this.#acknowledgedAt ?? Number.NEGATIVE_INFINITY);
    // A flush without waiting records sends an empty block.
    if (ageMs >= ACKNOWLEDGED_MS_MAX) this.#running ??= this.#run();
  }

  append(record: T): Promise<void> {
    return this.appendAll([record]);
  }

  appendAll(records: readonly T[]): Promise<void> {
    const refusal = this.refusal();
    if (refusal !== undefined) {
      this.options.metrics?.rejected.inc(records.length);
      return Promise.reject(new LogUnavailable(refusal));
    }
    try {
      this.#lastAppended = this.#batcher.add(records);
    } catch (error) {
      return Promise.reject(error);
    }
    this.#running ??= this.#run();
    return this.#lastAppended;
  }

  /** Closes the writer. Waits until each record is stored or rejected, but not for test blocks. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#probe);
    await this.#lastAppended.catch(() => {});
  }

  /** Returns why `append` rejects records at the moment; `undefined` when it accepts them. */
  refusal(): string | undefined {
    if (this.#closed) return "The event log is closed";
    if (!this.#healthy) return "The brokers take nothing";
    const { pendingBytesMax = LOG_PENDING_BYTES_MAX } = this.options;
    if (this.#sendingBytes + this.#batcher.waiting.bytes >= pendingBytesMax) {
      return "Too many records wait for the brokers";
    }
    return undefined;
  }

  /**
   * Sends the waiting records in batches until none waits. Sends a test block (an empty block) if
   * none waits at first. No `await` may follow the loop: records appended during the `await` would
   * not be sent.
   */
  async #run(): Promise<void> {
    do await this.#flush();
    while (this.#batcher.waiting.blocks.length > 0);
    this.#running = undefined;
  }

  /**
   * Sends the waiting records as one batch, and resolves or rejects the promises of its records.
   * Records that are appended before the request is built join the batch.
   */
  async #flush(): Promise<void> {
    const startedAt = performance.now();
    let batch: FlushBatch | undefined;
    let isLate = false;
    const refuse = () => {
      isLate = true;
      this.#refuse(batch, new Error(NO_ANSWER));
    };
    // An answer that arrived while this process stood still is read before the second timer.
    let late = setTimeout(() => {
      late = setTimeout(refuse, LATE_READ_MS);
    }, ANSWER_MS_MAX - LATE_READ_MS);
    try {
      await this.#send(() => {
        batch = this.#batcher.take();
        this.#sendingBytes = batch.bytes;
        return batch.blocks[0];
      });
      for (const block of batch!.blocks.slice(1)) await this.#send(() => block);
      this.#setHealthy(true);
      this.#tell(batch!, startedAt);
      batch!.resolve();
      this.#batcher.recycle(batch!);
    } catch (error) {
      // The buffers are not reused: a request may still read them.
      this.#refuse(isLate ? undefined : batch, error);
      this.#probeLater();
    }
    clearTimeout(late);
    this.#sendingBytes = 0;
  }

  #tell(batch: FlushBatch, startedAt: number): void {
    const { metrics, onChange } = this.options;
    metrics?.records.inc(batch.count);
    metrics?.bytes.inc(batch.bytes);
    metrics?.flushSeconds.observe((performance.now() - startedAt) / 1000);
    onChange?.();
  }

  /**
   * Sends the block that `take` returns, or a test block if it returns none. Rejects if the brokers
   * do not acknowledge the block.
   */
  async #send(take: () => Taken | undefined): Promise<void> {
    const { producer, partition } = this.options;
    const offset = await producer.send(partition, () => sealed(take()));
    this.#durable = Math.max(this.#durable, sequenceOf(offset + 1n));
    this.#acknowledgedAt = performance.now();
  }

  /**
   * Marks the partition as not writable. Rejects the records of `batch` and the waiting records,
   * with `error` as the cause.
   */
  #refuse(batch: FlushBatch | undefined, error: unknown): void {
    const { partition, logger, metrics } = this.options;
    if (this.#healthy) {
      logger.error({ err: error, partition }, "event log cannot be written");
    }
    this.#failure = error;
    this.#setHealthy(false);
    for (const refused of [batch, this.#batcher.take()]) {
      metrics?.rejected.inc(refused?.count ?? 0);
      refused?.reject(new LogUnavailable("The brokers did not accept it", { cause: error }));
    }
  }

  #probeLater(): void {
    if (this.#closed) return;
    this.#probe = setTimeout(() => {
      this.#running ??= this.#tryAgain();
    }, PROBE_MS);
  }

  async #tryAgain(): Promise<void> {
    try {
      await this.#send(() => undefined);
      this.#setHealthy(true);
    } catch (error) {
      if (error instanceof InvariantError) this.#logFault(error);
      this.#failure = error;
      this.options.onChange?.();
      this.#probeLater();
    }
    this.#running = undefined;
  }

  /**
   * Logs the first broken invariant (a bug) that made a test block fail, because the line logged
   * when writes began to fail may name another cause. Logs no further ones.
   */
  #logFault(err: InvariantError): void {
    if (this.#isFaultLogged) return;
    this.#isFaultLogged = true;
    const { partition, logger } = this.options;
    logger.error({ err, partition }, "probe of the event log met a broken invariant");
  }

  #setHealthy(healthy: boolean): void {
    if (this.#healthy === healthy) return;
    this.#healthy = healthy;
    const { partition, logger, onChange } = this.options;
    if (healthy) logger.info({ partition }, "event log can be written again");
    onChange?.();
  }
}

const NO_ANSWER = `The brokers said nothing for ${ANSWER_MS_MAX / 1000} s`;

type Taken = Pick<OpenBlock, "buffer" | "end" | "count">;

/**
 * Writes the header of the block in `taken`, and returns the bytes of the block. Without `taken`,
 * returns a test block, which has no records.
 */
export function sealed(taken?: Taken): Buffer {
  const { buffer = Buffer.alloc(HEADER_BYTES), end = HEADER_BYTES, count = 0 } = taken ?? {};
  sealBlock(buffer, end, 0, count);
  return buffer.subarray(0, end);
}
