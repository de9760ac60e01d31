/**
 * A log that several nodes append to and that all read in the same order. In a cluster it is one
 * partition of Kafka.
 */
export interface OrderedLog {
  /** Resolves once the entry is durable. Rejects when that is unknown; the entry may be durable. */
  append(entry: Uint8Array): Promise<void>;
  /** Position after the last durable entry, at least of those appended before the call. */
  end(): Promise<number>;
  /** Deletes the entries before a position, for all nodes. */
  trim(position: number): Promise<void>;
  /**
   * Passes the entries from `position` on to `take`, in order and in batches, until it is closed.
   * After deleted entries it continues with the oldest one left. A batch whose `take` rejects is
   * passed again; the next ones wait.
   */
  follow(position: number, take: (entries: readonly LogEntry[]) => Promise<void>): Follower;
  /** A sentence about why entries are not appended or read; undefined while they are. */
  trouble(): string | undefined;
}

/** An entry; one without bytes was a probe of the log and has no meaning. */
export interface LogEntry {
  position: number;
  bytes: Uint8Array;
}

export interface Follower {
  /** Resolves when `take` is not called any more. */
  close(): Promise<void>;
}
