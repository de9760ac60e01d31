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
   * Appends a record. Resolves when the record is durable, and rejects when it was not stored.
   * `user` is the hash of the event's user, which chooses the partition, so that a user's records
   * keep their order. It is 0 unless `isPartitionedByUser`.
   */
  append(record: EventRecord, user: number): Promise<void>;
  /**
   * Appends the records of one request; `users` has the hash of each event's user. When a partition
   * of one of them takes no records now, none of them is stored. All of them are stored or none,
   * unless partitions fail while they are written, or the records do not fit one block.
   */
  appendAll(records: readonly EventRecord[], users: readonly number[]): Promise<void>;
  /** Whether `append` needs the hash of the event's user. */
  isPartitionedByUser?: boolean;
  /** Returns how much of the log accepts records now, and why the rest does not. */
  health(): LogHealth;
  /**
   * Returns the sequence number after the last durable record. Absent when other processes write
   * the log too.
   */
  durable?(): number;
  /**
   * Returns the ends of the other ingest processes' event logs, which each record stores to order
   * events across logs. Absent when there are none.
   */
  otherLogs?: (() => readonly LogEnd[]) | undefined;
  /** Writes the records that wait, then closes the log. */
  close(): Promise<void>;
}

/** The parts of an ingest process that its log needs. */
export interface IngestLogContext {
  logger: Logger;
  metrics: Metrics;
  /** Called with the value of `IngestLog.health` when it may have changed. */
  onHealth(health: LogHealth): void;
}
