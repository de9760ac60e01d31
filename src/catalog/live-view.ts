import type { Connection, Destination, Revision, Source } from "./model.ts";

/**
 * Reads of the catalog for accepting and delivering events. Each but `lanes` takes a few LMDB
 * look-ups and no scan.
 */
export interface Live {
  /** Returns the source with this write key, enabled or not. Undefined when there is none. */
  source(writeKey: string): Source | undefined;
  sourceById(id: string): Source | undefined;
  /**
   * Number that increases when sources, destinations or connections change. Callers reload these
   * when it has increased.
   */
  topology(): number;
  /**
   * Returns the ids of destinations that changed, or whose connections did, after the topology was
   * `topology`. Undefined when that is not known, so that any destination may have changed.
   */
  changedSince(topology: number): ReadonlySet<string> | undefined;
  /** Returns a destination and its connections; undefined when it has none or does not exist. */
  lane(destinationId: string): { destination: Destination; connections: Connection[] } | undefined;
  /**
   * Returns the destinations of all workspaces that have at least one connection, each with its
   * connections. The id of a connection is other than before when its source or destination was
   * replaced.
   */
  lanes(): { destination: Destination; connections: Connection[] }[];
  destination(id: string): Destination | undefined;
  /**
   * Returns the published transformation that is linked to a destination, with the libraries that
   * it imports and the workspace's credentials. Undefined when no transformation is linked. Returns
   * the same object until one of these changes.
   */
  program(destinationId: string): LiveProgram | undefined;
  /** Returns the values of a workspace's credentials by name, for test runs of user code. */
  credentials(workspaceId: string): Record<string, string>;
}
export interface LiveProgram {
  /**
   * Identifies this exact program. It differs after any change of code, libraries or credentials.
   */
  id: string;
  workspaceId: string;
  transformation: Revision;
  libraries: Revision[];
  credentials: Record<string, string>;
}
