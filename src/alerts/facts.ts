/**
 * Facts about one workspace that alert rules evaluate, from the same state as the console's
 * overview.
 */
export interface AlertFacts {
  /**
   * Whether all nodes of the cluster answered. Otherwise there may be a problem that no node
   * reports.
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
  /** State as the overview shows it, such as `ok`, `failing` or `down`. */
  state: string;
  reason?: string;
  lagEvents: number;
  lagSeconds: number;
  deadLetters: number;
}

interface TransformationFacts {
  id: string;
  name: string;
  /** Last error of suspended code. Such code does not run for a while, because it only fails. */
  suspended?: { reason: string };
}

export interface SourceFacts {
  id: string;
  name: string;
  enabled: boolean;
  receivedPerSecond: number;
  /**
   * Whether a destination reads the source's events without delay, so that a rate of 0 means that
   * there are none.
   */
  isObserved: boolean;
}

export interface ServerFacts {
  /** Messages of the checks of `/ready` that fail. */
  troubles: readonly string[];
  warnings: readonly string[];
  /** Number of nodes that answer. Absent while nodes cannot be asked. */
  nodes?: number;
  missingNodes: readonly string[];
  /** Disks of the data directories, by the id of the node. Empty id on a standalone server. */
  disks: readonly DiskFacts[];
}

export interface DiskFacts {
  node: string;
  freeBytes: number;
  sizeBytes: number;
}
