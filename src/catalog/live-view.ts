import type { Connection, Destination, Revision, Source } from "./model.ts";

/**
 * Reads of the catalog for accepting and delivering events. Each method takes a few LMDB lookups and
 * no scan, except `lanes` and `longestDedupSeconds`.
 */
export interface Live {
  /** Returns the source with this write key, enabled or not. Undefined when there is none. */
  source(writeKey: string): Source | undefined;
  sourceById(id: string): Source | undefined;
  /**
   * Returns the longest window of the setting `dedupSeconds` of all sources; 0 when it is off for
   * all. Reads all sources, once after each change.
   */
  longestDedupSeconds(): number;
  /**
   * Number that increases when sources, destinations or connections change (the topology). Callers
   * reload their copies of these when it has increased.
   */
  topology(): number;
  /**
   * Returns the ids of destinations that have changed, or whose connections have changed, since
   * `topology()` returned `topology`. Undefined when this is no longer stored, so that any
   * destination may have changed.
   */
  changedSince(topology: number): ReadonlySet<string> | undefined;
  /**
   * Returns a destination and its connections. Undefined when the destination does not exist, has
   * no connections, or is delivered by rudder-server.
   */
  lane(destinationId: string): { destination: Destination; connections: Connection[] } | undefined;
  /**
   * Returns the destinations of all workspaces that pixelmill delivers and that have at least one
   * connection, each with its connections. The id of a connection here changes when its source or
   * destination is replaced, so that delivery treats it as a new connection. Reads the whole
   * catalog. The result is used again, because a start asks several times, but not kept for that.
   */
  lanes(): { destination: Destination; connections: Connection[] }[];
  destination(id: string): Destination | undefined;
  /**
   * Returns the program for a destination's events: the published transformation that is linked to
   * the destination, with the libraries that it imports and the workspace's credentials. Undefined
   * when no transformation is linked. Returns the same object until one of these changes.
   */
  program(destinationId: string): LiveProgram | undefined;
  /** Returns the values of a workspace's credentials by name, for test runs of user code. */
  credentials(workspaceId: string): Record<string, string>;
}
export interface LiveProgram {
  /**
   * Id of exactly this program. It changes with every change of the code, the libraries or the
   * credentials.
   */
  id: string;
  workspaceId: string;
  transformation: Revision;
  libraries: Revision[];
  credentials: Record<string, string>;
}
