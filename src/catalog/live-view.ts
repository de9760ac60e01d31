import type { Connection, Destination, Revision, Source } from "./model.ts";

/** Reads of the data plane and the lanes, which take a few LMDB look-ups and no scan. */
export interface Live {
  /** The source of a write key, enabled or not. */
  source(writeKey: string): Source | undefined;
  sourceById(id: string): Source | undefined;
  /** A number that increases when sources, destinations or connections change. */
  topology(): number;
  /** Destinations of all workspaces that have a connection, with their connections. */
  lanes(): { destination: Destination; connections: Connection[] }[];
  destination(id: string): Destination | undefined;
  /**
   * The published code that is linked to a destination, with the published libraries that the code
   * imports and the workspace's credentials; undefined when there is no link. Returns the same
   * object as long as nothing changed.
   */
  program(destinationId: string): LiveProgram | undefined;
  /** Values of the workspace's credentials by name, for test runs. */
  credentials(workspaceId: string): Record<string, string>;
}
export interface LiveProgram {
  /** Changes with each change of the code, its libraries or the credentials. */
  id: string;
  workspaceId: string;
  transformation: Revision;
  libraries: Revision[];
  credentials: Record<string, string>;
}
