/**
 * A log that several nodes append to and all read in the same order: it decides what happened
 * first. In a cluster it is one partition of Kafka.
 */
export interface OrderedLog {
  /** Resolves once the entry is kept. Rejects when that is not known; it may be kept all the same. */
  append(entry: Uint8Array): Promise<void>;
  /** Position after the last entry that is kept: of all whose `append` resolved before the call. */
  end(): Promise<number>;
  /** Deletes the entries before a position, for all nodes. */
  trim(position: number): Promise<void>;
  /**
   * Gives every entry from `position` on, in order, some at a time, until it is closed. Where
   * entries were deleted before they were given, the oldest that is kept comes next. The next ones
   * wait for `take`; when it rejects, the same are given again.
   */
  follow(position: number, take: (entries: readonly LogEntry[]) => Promise<void>): Follower;
  /** Why entries are not kept or not read at the moment, as a sentence; undefined while they are. */
  trouble(): string | undefined;
}

/** One without bytes says nothing: somebody looked whether entries are kept. */
export interface LogEntry {
  position: number;
  bytes: Uint8Array;
}

export interface Follower {
  /** Resolves when nothing is given any more. */
  close(): Promise<void>;
}
