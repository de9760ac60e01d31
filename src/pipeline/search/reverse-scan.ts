import type { TimeSlicer } from "../../concurrency/time-slicer.ts";
import type { LogReader, LogRecord } from "../../log/event-log.ts";
import type { TimeOf } from "../../log/time-search.ts";

/** Approximate bytes of a stride; after it the next log is chosen. */
const STRIDE_BYTES = 512 << 10;
/** A stride that reads more, because of large records, is repeated with a shorter one. */
const STRIDE_BYTES_MAX = 4 << 20;
const READ_BYTES = 256 << 10;
/** Positions of the first stride; the length of the next ones follows from their bytes. */
const FIRST_STRIDE = 1_024;
const GROWTH_MAX = 8;

export interface ScanHit {
  sequence: number;
  time: number;
  record: Uint8Array;
}

export interface ReverseScanOptions {
  reader: LogReader;
  /** Positions: the scan begins at the higher and stops at the lower one. */
  range: { low: number; high: number };
  isWanted(record: Uint8Array): boolean;
  timeOf: TimeOf;
  /** Hits of one stride that are kept: the newest. */
  countMax: number;
  slicer: TimeSlicer;
}

/** Result of a stride. */
interface Seen {
  hits: ScanHit[];
  oldestAt: number;
  bytes: number;
}

/** Scans one log from its end to its beginning, stride by stride. */
export class ReverseScan {
  readonly #options: ReverseScanOptions;
  #high: number;
  #stride = FIRST_STRIDE;
  /** Hits that were not taken yet, the newest last. */
  readonly #hits: ScanHit[] = [];
  /** Time down to which the log was scanned; Infinity before the first stride. */
  reachedAt = Number.POSITIVE_INFINITY;
  bytes = 0;

  constructor(options: ReverseScanOptions) {
    this.#options = options;
    this.#high = options.range.high;
  }

  get isDone(): boolean {
    return this.#high <= this.#low;
  }

  /** The newest hit that was not taken. */
  get head(): ScanHit | undefined {
    return this.#hits.at(-1);
  }

  /** Position to continue from, so that no hit is missed; undefined at the beginning of the log. */
  get rest(): number | undefined {
    if (this.head !== undefined) return this.head.sequence + 1;
    return this.isDone ? undefined : this.#high;
  }

  take(): void {
    this.#hits.pop();
  }

  /** Scans the records of one stride, unless they turn out to be too large. */
  async step(signal: AbortSignal): Promise<void> {
    const { reader, countMax } = this.#options;
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
    // Hits that were not kept are found again if the search gets that far.
    this.#high = cut === undefined ? start : cut + 1;
    const oldestAt = cut === undefined ? seen.oldestAt : seen.hits[0]!.time;
    this.reachedAt = Math.min(this.reachedAt, oldestAt);
    const growth = STRIDE_BYTES / Math.max(seen.bytes, 1);
    this.#stride = Math.ceil(this.#stride * Math.max(1 / GROWTH_MAX, Math.min(growth, GROWTH_MAX)));
  }

  get #low(): number {
    const { range, reader } = this.#options;
    return Math.max(range.low, reader.first());
  }

  async #scan(records: readonly LogRecord[], seen: Seen, signal: AbortSignal): Promise<void> {
    const { isWanted, timeOf, slicer } = this.#options;
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
