import type { Alerts } from "./alerts/alert-store.ts";
import type { AuditLog } from "./audit/audit.ts";
import type { CodeStore } from "./code/code-store.ts";
import type { TestCases } from "./code/test-cases.ts";
import type { Live } from "./live-view.ts";
import type { ItemsMax } from "./management/item-limits.ts";
import type {
  Connections,
  Credentials,
  Destinations,
  Identities,
  Members,
  Sessions,
  Sources,
  Tokens,
  Workspaces,
} from "./management/resources.ts";
import type { Routing } from "./management/routing.ts";

/**
 * The catalog: workspaces, tokens, sources, destinations, connections and user code, stored in
 * LMDB. Each method that changes data is one atomic transaction, durable when its promise resolves.
 * Reads are synchronous and see the newest committed state. Methods throw an `ApiError`: `missing`
 * for an id that is unknown or belongs to another workspace, `conflict` or `invalid`. Methods take
 * the workspace id first, and never read or change another workspace. Several processes may open
 * the same catalog; each sees the others' commits.
 */
export interface Catalog {
  workspaces: Workspaces;
  members: Members;
  tokens: Tokens;
  sessions: Sessions;
  identities: Identities;
  credentials: Credentials;
  sources: Sources;
  destinations: Destinations;
  connections: Connections;
  code: CodeStore;
  testCases: TestCases;
  alerts: Alerts;
  live: Live;
  routing: Routing;
  audit: AuditLog;
  /**
   * Resolves once reads see all changes that any node of the cluster had confirmed before the call.
   * Rejects with `unavailable` when the node cannot find out which changes those are.
   */
  current(): Promise<void>;
  /** Changes how many items of each kind a workspace may own. */
  setItemsMax(max: ItemsMax): void;
  /**
   * Calls `condition`, then `run`. Each change that `run` makes calls `condition` again inside its
   * transaction, where reads see the state that the change will replace. When `condition` throws,
   * the change rejects with that error and writes nothing.
   */
  conditionally<T>(condition: () => void, run: () => Promise<T>): Promise<T>;
  /** Reason why changes cannot be stored now, as a sentence; undefined while they can be stored. */
  trouble(): string | undefined;
  /** Stores the recorded uses of tokens that are not on disk yet, then closes the catalog. */
  close(): Promise<void>;
}
