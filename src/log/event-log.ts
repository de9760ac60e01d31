/**
 * The event log: an append-only sequence of records; on one machine a directory for each writing
 * process, in a cluster a partition that all nodes write. A sequence number names a record for
 * good, and is never reused. Numbers ascend; only those of a directory have no gaps.
 */

/** How records become bytes; the log does not look inside them. */
export interface RecordCodec<T> {
  /** An upper bound for the record's encoded size. */
  bytesMax(record: T): number;
  /** Writes the record at `offset` and returns the offset after it. */
  encode(record: T, into: Buffer, offset: number): number;
}

export interface LogWriter<T> {
  /**
   * Resolves when the record is kept: on disk (`fdatasync` returned), or at all replicas in sync.
   * Rejects with `LogUnavailable` when it could not be written; the record may then be absent or,
   * later, present. Records that are written together share one promise.
   */
  append(record: T): Promise<void>;
  /** Sequence number after the last record of this writer that is durable. */
  durable(): number;
  /** False from a failed write until a write succeeds again. */
  healthy(): boolean;
  /** Flushes the waiting records, then closes. */
  close(): Promise<void>;
}

export interface LogRecord {
  sequence: number;
  /** A view into the block that was read; copy the bytes to keep them. */
  bytes: Uint8Array;
}

/** A part of a log that is deleted as a whole. */
export interface LogPart {
  /** Sequence number at which the part starts. */
  first: number;
  /** Size of the part on disk, exact or estimated. */
  bytes: number;
}

export interface LogReader {
  /** Sequence number of the oldest record kept. */
  first(): number;
  /** Sequence number after the last record that may be read. */
  end(): number;
  /** Lets the reader read records below `sequence`, which are durable. */
  advance(sequence: number): void;
  /**
   * Number of records with sequence numbers from `from` up to, not including, `to`; an estimate
   * where numbers have gaps.
   */
  countBetween(from: number, to: number): number;
  /**
   * Whole blocks from `sequence` on: at least one if there is any, and about `bytesMax` at most.
   * `next` is where the following read starts; past a gap (a damaged block) it is larger than the
   * last record's number + 1.
   */
  read(sequence: number, bytesMax: number): Promise<{ records: LogRecord[]; next: number }>;
  /**
   * Deletes the segments that hold nothing at or above `sequence`, step by step; stops early when
   * `stop` says so, and while the log is copied.
   */
  trim(sequence: number, stop?: AbortSignal): Promise<void>;
  /** Parts of the log, oldest first; the last part may still grow. */
  parts(): LogPart[];
  close(): Promise<void>;
}

/** All event logs that a server reads. */
export interface EventLogs {
  /** By name; more may be added. */
  readonly readers: ReadonlyMap<string, LogReader>;
  /**
   * Sequence number after the last record of each log: beyond every record that was acknowledged
   * before the call, by whichever machine.
   */
  ends(): Promise<Readonly<Record<string, number>>>;
  /**
   * Calls the listener whenever more records are durable; a call without a range means that any log
   * may have more. Returns the function that ends the calls.
   */
  onDurable(listener: (news?: DurableRange) => void): () => void;
  /** A sentence for each log that lost records. */
  warnings(): string[];
  close(): Promise<void>;
}

/** Records that became durable since the last notification of the same log. */
export interface DurableRange {
  /** Name of the log. */
  log: string;
  /** Sequence number after the last durable record. */
  end: number;
  /**
   * Sources of the records between the last notification and `end`; no record has another source.
   */
  sources: readonly string[];
}

/** The disk, or the brokers, did not take a record. */
export class LogUnavailable extends Error {
  override readonly name = "LogUnavailable";
}
