import type { LogEnd, PixelRecord } from "../../event/record.ts";
import type { Logger } from "../../observe/log.ts";
import type { Metrics } from "../../observe/metrics.ts";

/** The event log that an ingest process appends to: its own, or one that many machines share. */
export interface IngestLog {
  /**
   * Settles as `LogWriter.append` does. `user` is the hash of whose event it is, by which a log of
   * many parts keeps a user's records in one; 0 where the log does not ask for it.
   */
  append(record: PixelRecord, user: number): Promise<void>;
  /** Whether the log asks whose event a record is. */
  isPartitionedByUser?: boolean;
  /** Whether records can be appended. */
  healthy(): boolean;
  /** Sequence number after the last durable record of a log of this process's own. */
  durable?(): number;
  /** Where the event logs of other processes end now, if there are other logs. */
  otherLogs?: (() => readonly LogEnd[]) | undefined;
  /** Flushes the records that wait, then closes. */
  close(): Promise<void>;
}

/** What a log is opened with in an ingest process. */
export interface IngestLogContext {
  logger: Logger;
  metrics: Metrics;
  /** Is called when `healthy` may have changed. */
  onHealth(healthy: boolean): void;
}
