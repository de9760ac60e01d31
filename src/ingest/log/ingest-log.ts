import type { EventRecord, LogEnd } from "../../event/record.ts";
import type { LogHealth } from "../../log/event-log.ts";
import type { Logger } from "../../observe/log.ts";
import type { Metrics } from "../../observe/metrics.ts";

/**
 * The event log to which an ingest process appends records: a log of its own, or a log that all
 * nodes of a cluster write.
 */
export interface IngestLog {
  /**
   * Appends a record. Resolves when the record is durable, and rejects if it was not stored. `user`
   * is a hash of the event's user that chooses the partition; 0 if `isPartitionedByUser` is not
   * set.
   */
  append(record: EventRecord, user: number): Promise<void>;
  /**
   * Appends the records of one request. `users` has the hash of each event's user. Resolves when
   * all records are durable. Rejects in two cases:
   * - One of the partitions accepts no records: none of the records is stored.
   * - A write fails: the log may have some of the records. If all fit into one block of one
   *   partition, the log has all or none.
   */
  appendAll(records: readonly EventRecord[], users: readonly number[]): Promise<void>;
  /**
   * Whether the hash of a record's user chooses the record's partition. If not, callers of `append`
   * pass 0 as the hash.
   */
  isPartitionedByUser?: boolean;
  /** Returns how many partitions of the log accept records, and why the other partitions do not. */
  health(): LogHealth;
  /**
   * Returns the sequence number after the last durable record of the log. Absent for a log that
   * other processes write too.
   */
  durable?(): number;
  /**
   * Returns the ends of the event logs of the other ingest processes. Each record stores these
   * ends, which gives events an order across logs. Undefined when there are no other logs.
   */
  otherLogs?: (() => readonly LogEnd[]) | undefined;
  /** Writes the appended records that are not written yet, then closes the log. */
  close(): Promise<void>;
}

/** Parts of an ingest process that its event log uses. */
export interface IngestLogContext {
  logger: Logger;
  metrics: Metrics;
  /** Called with the value of `IngestLog.health` when it may have changed. */
  onHealth(health: LogHealth): void;
}
