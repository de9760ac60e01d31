/**
 * Event log: an append-only sequence of records. On a single machine, each ingest process writes
 * its own log, in a directory of its own. In a cluster, all nodes write to shared Kafka partitions.
 * A sequence number identifies one record of a log, ascends, and is never reused. Sequence numbers
 * have no gaps in a directory; in a partition they may have gaps.
 */

/** Encodes records of type `T` as bytes. The log itself never decodes them. */
export interface RecordCodec<T> {
  /** Upper bound of the encoded size of `record`, in bytes. */
  bytesMax(record: T): number;
  /** Writes the record at `offset` and returns the offset after it. */
  encode(record: T, into: Buffer, offset: number): number;
}

export interface LogWriter<T> {
  /**
   * Appends a record. Resolves when the record is durable: on disk, or stored by all in-sync
   * replicas. Rejects with `LogUnavailable` if this is not confirmed; the record may nevertheless
   * be stored. Records that are written together get the same promise.
   */
  append(record: T): Promise<void>;
  /**
   * Appends the records of one request. All of them are in one block if a block has room for them.
   * If the log refuses the append, none of them is stored.
   */
  appendAll(records: readonly T[]): Promise<void>;
  /** Sequence number after the last durable record that this writer appended. */
  durable(): number;
  /**
   * Whether the last write succeeded. After a failed write it is false until a write succeeds
   * again.
   */
  healthy(): boolean;
  /** Error with which the last write failed. Undefined if the last write succeeded. */
  failure(): unknown;
  /** Writes the appended records that are not written yet, then closes the log. */
  close(): Promise<void>;
}

/**
 * Health of an event log: how many of its partitions can be written. A log in files counts as one
 * partition.
 */
export interface LogHealth {
  /**
   * `failing` is the number of partitions whose last write failed, `writable` the number of those
   * whose last write succeeded. A partition that was never written is counted in neither.
   */
  failing: number;
  writable: number;
  /** One sentence for each cause of failed writes: what cannot be written, why, and what to do. */
  faults: string[];
}

export interface LogRecord {
  sequence: number;
  /** The encoded record, as a view into the block that holds it. Copy the bytes to keep them. */
  bytes: Uint8Array;
}

/**
 * A part of a log that `trim` deletes as a whole: a segment file, or a range of a Kafka partition.
 */
export interface LogPart {
  /** Sequence number of the part's first record. */
  first: number;
  /** Size of this part of the log in bytes: exact for a segment file, estimated in Kafka. */
  bytes: number;
}

export interface LogReader {
  /** Sequence number of the oldest record that the log still holds. */
  first(): number;
  /**
   * Sequence number after the last record that the reader may return. Later records may not be
   * durable yet.
   */
  end(): number;
  /** Makes `end` return `sequence`. Call it only when all records below `sequence` are durable. */
  advance(sequence: number): void;
  /**
   * Returns the number of records with sequence numbers from `from` (inclusive) to `to`
   * (exclusive). It is an estimate, because some of these numbers may have no record.
   */
  countBetween(from: number, to: number): number;
  /**
   * Reads the records from `sequence`, in whole blocks, until about `bytesMax` bytes are read; at
   * least one block if there is one. `next` is the sequence number for the next call. It may be
   * beyond the number after the last record, because unreadable records are skipped.
   */
  read(sequence: number, bytesMax: number): Promise<{ records: LogRecord[]; next: number }>;
  /**
   * Deletes the segments whose records are all below `sequence`, the oldest first. Stops early when
   * `stop` is aborted. Deletes nothing while a backup copies the log.
   */
  trim(sequence: number, stop?: AbortSignal): Promise<void>;
  /** Parts of the log, oldest first. The last part may still grow. */
  parts(): LogPart[];
  close(): Promise<void>;
}

/** All event logs that a server reads. */
export interface EventLogs {
  /** Reader of each log, by the log's name. Logs may be added while the server runs. */
  readonly readers: ReadonlyMap<string, LogReader>;
  /**
   * Resolves with the end of each log by the log's name: the sequence number after its last durable
   * record. Every record that was acknowledged before the call, on any machine, is before the end
   * of its log.
   */
  ends(): Promise<Readonly<Record<string, number>>>;
  /**
   * Calls `listener` whenever further records become durable. `news` describes these records and
   * names their log. If `news` is absent, any log may have new records. Returns a function that
   * removes the listener.
   */
  onDurable(listener: (news?: DurableRange) => void): () => void;
  /** Warnings for the operator of the server: one sentence for each log that lost records. */
  warnings(): string[];
  close(): Promise<void>;
}

/** The records of one log that became durable since the previous notification about that log. */
export interface DurableRange {
  log: string;
  /** Sequence number after the last durable record. */
  end: number;
  /** Ids of all sources that have events in the new records, and possibly of further sources. */
  sources: readonly string[];
}

/** Error of an append: the disk or the brokers have not confirmed that the records are stored. */
export class LogUnavailable extends Error {
  override readonly name = "LogUnavailable";
}
