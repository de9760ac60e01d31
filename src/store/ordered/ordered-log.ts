/**
 * A log that several nodes append to and that all nodes read in the same order. In a cluster it is
 * a partition of a Kafka topic.
 */
export interface OrderedLog {
  /** Appends an entry. Resolves once it is durable; when it rejects, it may still be durable. */
  append(entry: Uint8Array): Promise<void>;
  /** Reads the position after the last durable entry, by a request made after the call. */
  end(): Promise<number>;
  /** Deletes the entries before a position from the shared log. */
  trim(position: number): Promise<void>;
  /**
   * Passes entries to `take` in batches and in order, from `position` on, until it is closed. When
   * entries there were deleted, it continues with the oldest entry. When `take` rejects, it is
   * called again with the same batch.
   */
  follow(position: number, take: (entries: readonly LogEntry[]) => Promise<void>): Follower;
  /** A sentence about why entries cannot be read; undefined while they can. */
  trouble(): string | undefined;
}

/** Entry of a log. An entry without bytes only tested whether the log is writable. */
export interface LogEntry {
  position: number;
  bytes: Uint8Array;
}

export interface Follower {
  /** Stops following. Resolves once `take` has returned and is not called again. */
  close(): Promise<void>;
}
