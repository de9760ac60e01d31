import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { RecordCodec } from "./event-log.ts";
import type { Gap } from "./loss-report.ts";

/** Longest wait of a flush for more records, in ms from the start of the previous flush. */
export const LOG_GATHER_MS = 1;
/** Milliseconds until the next attempt to replace an old segment, if this is not possible now. */
export const LOG_ROTATE_RETRY_MS = 1_000;
/** Milliseconds between two attempts to write to a disk that failed. */
export const LOG_PROBE_MS = 250;

/** Size in bytes after which a new segment file begins. Only whole segments can be deleted. */
export const LOG_SEGMENT_BYTES_MAX = 64 << 20;

/** Size and age at which the writer starts the next segment. */
export interface SegmentBounds {
  /** Largest size of a segment in bytes; `LOG_SEGMENT_BYTES_MAX` when absent. */
  segmentBytesMax?: number | undefined;
  /**
   * Largest age of a segment in milliseconds, counted from its first block; unlimited when absent.
   * The next segment starts at that age even when no record comes: only whole segments are deleted,
   * so a segment that never fills would keep its records beyond the retention time.
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
   * Lowest sequence number that the writer may assign. Lower numbers may have been read by
   * consumers, which would skip new records with these numbers.
   */
  first?: number;
  /**
   * Called when the log on disk ends below `first`. `gap` holds the sequence numbers between that
   * end and `first`, whose records are missing.
   */
  onMissing?(gap: Gap): void;
  /** Called after a change of `durable` or `healthy`, before the promise of any record settles. */
  onChange?(): void;
}
