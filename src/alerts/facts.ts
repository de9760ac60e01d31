/**
 * Facts about one workspace, from which its alert rules are evaluated. They come from the state
 * that the console's overview shows.
 */
export interface AlertFacts {
  /**
   * Whether all nodes of the cluster answered. If not, the facts lack the problems that only the
   * missing nodes know, so the absence of a problem proves nothing.
   */
  isComplete: boolean;
  destinations: readonly DestinationFacts[];
  transformations: readonly TransformationFacts[];
  sources: readonly SourceFacts[];
  /** Facts about the whole server or cluster. Present only for the operator's workspace. */
  server?: ServerFacts;
}

export interface DestinationFacts {
  id: string;
  name: string;
  /** State of the destination as the overview shows it, such as `ok`, `failing` or `down`. */
  state: string;
  reason?: string;
  lagEvents: number;
  lagSeconds: number;
  deadLetters: number;
}

interface TransformationFacts {
  id: string;
  name: string;
  /**
   * Present while the transformation is suspended: the server does not run its code for a while,
   * because all events of its last batches failed. `reason` is the error of the last run.
   */
  suspended?: { reason: string };
}

export interface SourceFacts {
  id: string;
  name: string;
  enabled: boolean;
  receivedPerSecond: number;
  /**
   * Whether a `receivedPerSecond` of 0 proves that the source sends no events. True if at least one
   * destination has read nearly all of the source's events.
   */
  isObserved: boolean;
}

export interface ServerFacts {
  /** Messages of the failed checks of `/ready`. */
  troubles: readonly string[];
  warnings: readonly string[];
  /** Number of nodes that answer, this node included. Absent if it cannot ask the other nodes. */
  nodes?: number;
  missingNodes: readonly string[];
  /**
   * Size and free space of the disk with each node's data directory. `node` is the node's id, or an
   * empty string on a standalone server.
   */
  disks: readonly DiskFacts[];
}

export interface DiskFacts {
  node: string;
  freeBytes: number;
  sizeBytes: number;
}
