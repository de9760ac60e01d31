import type { LogEnd, PixelRecord } from "../../event/record.ts";
import type { Logger } from "../../observe/log.ts";
import type { Metrics } from "../../observe/metrics.ts";

/** The event log that an ingest process appends to: its own, or one that all nodes share. */
export interface IngestLog {
  /**
   * Settles as `LogWriter.append` does. `user` is the hash of the event's user, by which a log of
   * partitions keeps a user's records in one of them; 0 unless `isPartitionedByUser`.
   */
  append(record: PixelRecord, user: number): Promise<void>;
  /** Whether `append` needs the hash of the user. */
  isPartitionedByUser?: boolean;
  /** Whether records can be appended. */
  healthy(): boolean;
  /** Sequence number after the last durable record, of a log that this process alone writes. */
  durable?(): number;
  /** Ends of the event logs of other processes; absent when there are none. */
  otherLogs?: (() => readonly LogEnd[]) | undefined;
  /** Flushes the waiting records, then closes. */
  close(): Promise<void>;
}

/** Parts of an ingest process that its log uses. */
export interface IngestLogContext {
  logger: Logger;
  metrics: Metrics;
  /** Called when `healthy` may have changed. */
  onHealth(healthy: boolean): void;
}
