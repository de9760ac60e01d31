import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { RecordCodec } from "./event-log.ts";
import type { Gap } from "./loss-report.ts";

/**
 * Maximum number of milliseconds that a flush waits for more records, counted from the start of the
 * previous flush.
 */
export const LOG_GATHER_MS = 1;
/** Milliseconds between two attempts to replace a segment that has reached its largest age. */
export const LOG_ROTATE_RETRY_MS = 1_000;
/** Milliseconds between two attempts to write to the log's disk after a write has failed. */
export const LOG_PROBE_MS = 250;

/** Size in bytes after which a new segment file begins. Only whole segments can be deleted. */
export const LOG_SEGMENT_BYTES_MAX = 64 << 20;

/** Largest size and age of a segment. When a segment reaches either, the next segment starts. */
export interface SegmentBounds {
  /** Largest size of a segment in bytes; `LOG_SEGMENT_BYTES_MAX` when absent. */
  segmentBytesMax?: number | undefined;
  /**
   * Largest age of a segment in milliseconds, counted from its first block; unlimited when absent.
   * At that age the next segment starts even when no record arrives, because only whole segments
   * are deleted after the retention time.
   */
  segmentMsMax?: number | undefined;
}

export interface LogWriterOptions<T> extends SegmentBounds {
  /** Directory of the log. It is created when it does not exist. No other process may write it. */
  directory: string;
  codec: RecordCodec<T>;
  logger: Logger;
  metrics?: Metrics;
  /**
   * Minimum sequence number of the next record; by default, the number after the last record on
   * disk. Set it if the disk has lost records that consumers have read, because consumers would
   * skip new records with the same numbers.
   */
  first?: number;
  /**
   * Called when the log on disk ends before the option `first`. `gap` has the missing sequence
   * numbers: from the end of the log up to `first`, which is not included.
   */
  onMissing?(gap: Gap): void;
  /**
   * Called when the result of `durable`, `healthy` or `failure` has changed. If the cause is a
   * write of records, the promises of these records settle only after this call.
   */
  onChange?(): void;
}
