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
  /** Flushes the records that wait, then closes. */
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
  /** What the part takes on disk, or about that. */
  bytes: number;
}

export interface LogReader {
  /** Sequence number of the oldest record kept. */
  first(): number;
  /** Sequence number after the last record that may be read. */
  end(): number;
  /** Tells the reader that records below `sequence` are durable; it reads no further than that. */
  advance(sequence: number): void;
  /**
   * How many records have sequence numbers from `from` up to, not including, `to`; about so many
   * where numbers have gaps.
   */
  countBetween(from: number, to: number): number;
  /**
   * Whole blocks from `sequence` on: at least one if there is any, and about `bytesMax` at most.
   * `next` is where to go on; past a gap (a damaged block) it is larger than the last record's
   * number + 1.
   */
  read(sequence: number, bytesMax: number): Promise<{ records: LogRecord[]; next: number }>;
  /**
   * Deletes the segments that hold nothing at or above `sequence`, step by step; stops early when
   * `stop` says so, and while the log is copied.
   */
  trim(sequence: number, stop?: AbortSignal): Promise<void>;
  /** What the log consists of, oldest first; the last part may still grow. */
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
   * Calls the listener whenever there are more durable records to read; a call without news means
   * that any log may have more. Returns the function that ends the calls.
   */
  onDurable(listener: (news?: DurableRange) => void): () => void;
  /** A sentence for each log that lost something. */
  warnings(): string[];
  close(): Promise<void>;
}

/** What became durable since the last news of the same log. */
export interface DurableRange {
  /** Name of the log. */
  log: string;
  /** Sequence number after the last durable record. */
  end: number;
  /**
   * Sources of the records between the last news and `end`; there are records of no other source.
   */
  sources: readonly string[];
}

/** The disk, or the brokers, did not take a record. */
export class LogUnavailable extends Error {
  override readonly name = "LogUnavailable";
}
