import type { CodeStore } from "./code/code-store.ts";
import type { Live } from "./live-view.ts";
import type {
  Connections,
  Credentials,
  Destinations,
  Members,
  Sessions,
  Sources,
  Tokens,
  Workspaces,
} from "./management/resources.ts";

/**
 * The catalog: rules and management data in LMDB. Each verb is one atomic transaction, durable when
 * its promise resolves. Reads are synchronous and see the newest committed state.
 *
 * Verbs refuse with `ApiError` (`missing` for an unknown id or an id of another workspace,
 * `conflict`, `invalid`). Every verb takes the workspace first, and no verb reaches another
 * workspace. Several processes may open the same catalog; each sees the others' commits.
 */
export interface Catalog {
  workspaces: Workspaces;
  members: Members;
  tokens: Tokens;
  sessions: Sessions;
  credentials: Credentials;
  sources: Sources;
  destinations: Destinations;
  connections: Connections;
  code: CodeStore;
  live: Live;
  /**
   * Resolves once reads see every change that any node answered before the call. Rejects as
   * `unavailable` when that cannot be known.
   */
  current(): Promise<void>;
  /** Why changes cannot be stored now, as a sentence; undefined while they can. */
  trouble(): string | undefined;
  /** Stores the pending uses of tokens, and closes. */
  close(): Promise<void>;
}
