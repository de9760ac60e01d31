/**
 * Facts about one workspace, from which its alert rules are evaluated. They come from the state
 * that the console's overview shows.
 */
export interface AlertFacts {
  /**
   * Whether all nodes of the cluster answered. If not, problems that only a silent node could
   * report may be missing.
   */
  isComplete: boolean;
  destinations: readonly DestinationFacts[];
  transformations: readonly TransformationFacts[];
  sources: readonly SourceFacts[];
  /** Facts about the whole server or cluster. Absent for workspaces that must not see them. */
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
  /** Last error, if the transformation is suspended (paused, because it failed each time). */
  suspended?: { reason: string };
}

export interface SourceFacts {
  id: string;
  name: string;
  enabled: boolean;
  receivedPerSecond: number;
  /**
   * Whether at least one destination reads the source's events with little lag. Only then does a
   * rate of 0 mean that the source sends no events.
   */
  isObserved: boolean;
}

export interface ServerFacts {
  /** Messages of the failed checks of `/ready`. */
  troubles: readonly string[];
  warnings: readonly string[];
  /** Number of nodes that answer. Absent while this node cannot ask the other nodes. */
  nodes?: number;
  missingNodes: readonly string[];
  /** Disk of each node's data directory. `node` is the node's id; empty on a standalone server. */
  disks: readonly DiskFacts[];
}

export interface DiskFacts {
  node: string;
  freeBytes: number;
  sizeBytes: number;
}
