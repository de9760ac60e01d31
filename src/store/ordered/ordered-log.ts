/**
 * A log that several nodes append to and that all nodes read in the same order. In a cluster it is
 * a partition of a Kafka topic.
 */
export interface OrderedLog {
  /**
   * Appends an entry, and resolves once the entry is durable. After a rejection the entry may still
   * be in the log.
   */
  append(entry: Uint8Array): Promise<void>;
  /** Reads the position after the last durable entry. The request is sent after the call. */
  end(): Promise<number>;
  /** Deletes the entries before a position from the shared log, for all nodes. */
  trim(position: number): Promise<void>;
  /**
   * Passes entries to `take`, in batches and in order, from `position` on, until the follower is
   * closed. If entries at `position` were deleted, it continues with the oldest entry. When `take`
   * rejects, it is called again with the same batch.
   */
  follow(position: number, take: (entries: readonly LogEntry[]) => Promise<void>): Follower;
  /** Returns a sentence about why entries cannot be read, or undefined while they can. */
  trouble(): string | undefined;
}

/** Entry of an ordered log. An entry without bytes only tests whether the log is writable. */
export interface LogEntry {
  position: number;
  bytes: Uint8Array;
}

export interface Follower {
  /** Stops passing entries to `take`. Resolves once the running call of `take` has ended. */
  close(): Promise<void>;
}
