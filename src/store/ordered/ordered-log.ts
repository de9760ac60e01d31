/**
 * A log that several nodes append to and that all nodes read in the same order. In a cluster it is
 * a partition of a Kafka topic.
 */
export interface OrderedLog {
  /**
   * Appends an entry, and resolves with the entry's position once the entry is durable. Entries
   * that were durable before the call have lower positions. After a rejection the entry may still
   * be in the log.
   */
  append(entry: Uint8Array): Promise<number>;
  /**
   * Resolves with the position after the last durable entry that the log's leader knows. The true
   * end can be higher, because a leader that was replaced may still answer. Only an append proves
   * where the log ends.
   */
  knownEnd(): Promise<number>;
  /** Deletes the entries before a position from the shared log, for all nodes. */
  trim(position: number): Promise<void>;
  /**
   * Passes the entries at and after `position` to `take`, in batches and in order, until the
   * returned follower is closed. Begins with the oldest entry if the one at `position` was deleted.
   * Repeats a batch that `take` rejects.
   */
  follow(position: number, take: (entries: readonly LogEntry[]) => Promise<void>): Follower;
  /** Returns a sentence that says why entries cannot be read; undefined while they can be read. */
  trouble(): string | undefined;
}

/** Entry of an ordered log. An entry without bytes changes nothing: see `BARRIER`. */
export interface LogEntry {
  position: number;
  bytes: Uint8Array;
}

/**
 * Log entry without content (barrier), which changes no store. A node appends one to learn whether
 * entries can be appended, and where the log ends.
 */
export const BARRIER = new Uint8Array(0);

export interface Follower {
  /** Stops passing entries to `take`. Resolves once the running call of `take` has ended. */
  close(): Promise<void>;
}
