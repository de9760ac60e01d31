import type { TimeSlicer } from "../../concurrency/time-slicer.ts";
import type { LogReader, LogRecord } from "../../log/event-log.ts";
import type { TimeOf } from "../../log/time-search.ts";

/**
 * Approximate bytes that one stride (one step of a scan) reads. After each stride, the search
 * chooses the log to scan next.
 */
const STRIDE_BYTES = 512 << 10;
/**
 * Maximum bytes that one stride (one step of a scan) reads. If large records make a stride exceed
 * it, the scan reads again with a shorter range of log positions.
 */
const STRIDE_BYTES_MAX = 4 << 20;
/** Bytes of one read from the log. A stride consists of several reads. */
const READ_BYTES = 256 << 10;
/**
 * Number of log positions in the first stride of a scan. The number in each later stride depends on
 * the bytes of the stride before it.
 */
const FIRST_STRIDE = 1_024;
/** Largest factor by which the number of positions may grow or shrink between two strides. */
const GROWTH_MAX = 8;

interface ScanHit {
  sequence: number;
  time: number;
  record: Uint8Array;
}

interface ReverseScanOptions {
  log: string;
  reader: LogReader;
  /** Range of log positions to scan, from `high` (exclusive) down to `low` (inclusive). */
  range: { low: number; high: number };
  isWanted(record: Uint8Array): boolean;
  timeOf: TimeOf;
  /**
   * Maximum number of matching records that one stride keeps. The stride drops all older ones, and
   * later strides find them again.
   */
  countMax: number;
  slicer: TimeSlicer;
}

/**
 * Result of one stride (one step of a scan): the matching records, the earliest time of receipt
 * among all records of the stride, and the number of bytes of all these records.
 */
interface Seen {
  hits: ScanHit[];
  oldestAt: number;
  bytes: number;
}

/** Scans one log from its end towards its beginning, in steps of bounded size (strides). */
export class ReverseScan {
  #high: number;
  #stride = FIRST_STRIDE;
  /** Matching records that were found and not taken yet. The newest is last. */
  readonly #hits: ScanHit[] = [];
  /** Time of receipt of the oldest record scanned so far; Infinity before the first stride. */
  reachedAt = Number.POSITIVE_INFINITY;
  bytes = 0;

  constructor(private readonly options: ReverseScanOptions) {
    this.#high = options.range.high;
  }

  get log(): string {
    return this.options.log;
  }

  get isDone(): boolean {
    return this.#high <= this.#low;
  }

  /** The newest matching record that was not taken yet; undefined when there is none. */
  get head(): ScanHit | undefined {
    return this.#hits.at(-1);
  }

  /**
   * Position below which a later scan finds all matching records that were not taken from this
   * scan. The result is undefined when nothing remains to be scanned or taken.
   */
  get rest(): number | undefined {
    if (this.head !== undefined) return this.head.sequence + 1;
    return this.isDone ? undefined : this.#high;
  }

  take(): void {
    this.#hits.pop();
  }

  /**
   * Scans one stride (a range of positions). If the records in it are too large together, discards
   * the result of this stride, and the next call scans fewer positions.
   */
  async step(signal: AbortSignal): Promise<void> {
    const { reader, countMax } = this.options;
    const high = this.#high;
    const start = Math.max(this.#low, high - this.#stride);
    const seen: Seen = { hits: [], oldestAt: Number.POSITIVE_INFINITY, bytes: 0 };
    let cut: number | undefined;
    for (let at = start; at < high; ) {
      const { records, next } = await reader.read(at, READ_BYTES);
      if (next <= at) break;
      const within = records.filter(({ sequence }) => sequence < high);
      await this.#scan(within, seen, signal);
      const beyond = seen.hits.length - countMax;
      if (seen.bytes > STRIDE_BYTES_MAX && high - start > 1) {
        this.bytes += seen.bytes;
        this.#stride = Math.ceil((high - start) / GROWTH_MAX);
        return;
      }
      if (beyond > 0) cut = seen.hits.splice(0, beyond).at(-1)!.sequence;
      at = next;
    }
    this.#hits.unshift(...seen.hits);
    this.bytes += seen.bytes;
    // Hits that were not kept are found again if the search continues that far.
    this.#high = cut === undefined ? start : cut + 1;
    const oldestAt = cut === undefined ? seen.oldestAt : seen.hits[0]!.time;
    this.reachedAt = Math.min(this.reachedAt, oldestAt);
    const growth = STRIDE_BYTES / Math.max(seen.bytes, 1);
    this.#stride = Math.ceil(this.#stride * Math.max(1 / GROWTH_MAX, Math.min(growth, GROWTH_MAX)));
  }

  get #low(): number {
    const { range, reader } = this.options;
    return Math.max(range.low, reader.first());
  }

  async #scan(records: readonly LogRecord[], seen: Seen, signal: AbortSignal): Promise<void> {
    const { isWanted, timeOf, slicer } = this.options;
    const scan = ({ sequence, bytes }: LogRecord) => {
      const time = timeOf(bytes);
      if (time < seen.oldestAt) seen.oldestAt = time;
      seen.bytes += bytes.length;
      // The bytes are a view into the block that was read.
      if (isWanted(bytes)) seen.hits.push({ sequence, time, record: new Uint8Array(bytes) });
    };
    await slicer.each(records, scan, signal);
  }
}
