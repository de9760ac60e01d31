/**
 * Facts about one workspace, from which its alert rules are evaluated. They come from the state
 * that the console's overview shows.
 */
export interface AlertFacts {
  /**
   * Whether all nodes of the cluster answered when the facts were collected. If not, the facts may
   * lack problems that only the silent nodes know, so the absence of a problem proves nothing.
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
   * Whether a `receivedPerSecond` of 0 proves that this source sends no events. True if at least
   * one destination reads the source with little lag, so that its reading would show new events.
   */
  isObserved: boolean;
}

export interface ServerFacts {
  /** Messages of the failed checks of `/ready`. */
  troubles: readonly string[];
  warnings: readonly string[];
  /** Number of nodes that answered, with this one. Absent if this node cannot ask the others. */
  nodes?: number;
  missingNodes: readonly string[];
  /**
   * Disks that hold the data directories of the nodes that answered, with size and free space.
   * `node` is the node's id, or an empty string on a standalone server.
   */
  disks: readonly DiskFacts[];
}

export interface DiskFacts {
  node: string;
  freeBytes: number;
  sizeBytes: number;
}
