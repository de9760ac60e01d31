import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { RecordCodec } from "./event-log.ts";
import type { Gap } from "./loss-report.ts";

/** Bounds after which the next segment starts. */
export interface SegmentBounds {
  /** `LOG_SEGMENT_BYTES_MAX` when absent. */
  segmentBytesMax?: number | undefined;
  /**
   * Age from its first block at which the next segment starts, also without further records: records
   * that are kept for a time must not stay because a segment does not fill. Absent: no such age.
   */
  segmentMsMax?: number | undefined;
}

export interface LogWriterOptions<T> extends SegmentBounds {
  /** Created when it does not exist; this process must be its only writer. */
  directory: string;
  codec: RecordCodec<T>;
  logger: Logger;
  metrics?: Metrics;
  /** Lowest sequence number to assign, as far as readers of the log know. */
  first?: number;
  /**
   * Called when the log ends below `first`: the records with the numbers between are missing.
   */
  onMissing?(gap: Gap): void;
  /** Called after `durable` or `healthy` moved, before any record's promise settles. */
  onChange?(): void;
}
