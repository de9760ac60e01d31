import { earliestNow } from "../../observe/ages.ts";
import { newId } from "../ids.ts";
import type { Workspace } from "../model.ts";
import type { CatalogStore } from "../store.ts";
import type { AuditEntry, AuditFilter } from "./audit-entry.ts";
import type { AuditTables } from "./audit-log.ts";
import { currentCaller } from "./caller.ts";
import { type Fields, fieldChanges } from "./field-changes.ts";
import { callerFields } from "./recorded-store.ts";
import type { ReadRow } from "./recorded-tables.ts";

/**
 * An action that changes nothing in the catalog, such as a replay. Its audit entry is stored before
 * the action begins.
 */
interface AuditedAction
  extends Pick<AuditEntry, "workspaceId" | "action" | "resource" | "concerns"> {
  parameters: Fields;
}

/**
 * Requests with refused tokens, reported together in one audit entry. They came within a minute,
 * from one or several client addresses.
 */
export interface RefusedRequests {
  /** Id of the refused token's workspace. Empty for an unknown token. */
  workspaceId: string;
  /**
   * Id of the refused token. Absent for an unknown token. A known token is refused when it has
   * expired or lacks a permission.
   */
  tokenId?: string;
  client?: string;
  route?: string;
  reason: string;
  requests: number;
  /**
   * Number of client addresses whose requests this entry counts. Absent when it counts the requests
   * of one client, whose address is `client`.
   */
  addresses?: number;
}

/**
 * Maximum number of old entries that one transaction deletes. It is small, so that other
 * transactions wait only briefly.
 */
const TRIMMED_AT_ONCE_MAX = 500;

/**
 * The audit log: who did what in a workspace. Finds all entries, but stores only those about
 * refused tokens and about actions that change nothing in the catalog; `recordChanges` stores the
 * entries about changes of the catalog.
 */
export function openAuditLog(store: CatalogStore, tables: AuditTables) {
  const workspaces = store.table<Workspace, string>("workspaces");
  const read: ReadRow = (table, key) => store.table<never, string>(table).get(key);

  /** Whether a workspace is the first one of this server. The first one belongs to the operator. */
  function isFirst(workspaceId: string): boolean {
    const [first] = [...workspaces.getKeys({ limit: 1 })];
    return first === workspaceId;
  }

  return {
    /**
     * Finds at most `count` of a workspace's entries, newest first. To continue a search, pass
     * `reached` of its result as `after`. A search reads a limited number of entries, so that fewer
     * may be found although older ones exist.
     */
    find: (workspaceId: string, filter: AuditFilter, page: { after?: string; count: number }) =>
      tables.find(workspaceId, filter, { ...page, others: isFirst(workspaceId) }),
    /**
     * Stores an entry with the outcome `unknown` for an action that changes nothing in the catalog.
     * Callers await this before they begin the action.
     */
    async begin({ workspaceId, action, resource, concerns = [], parameters }: AuditedAction) {
      const caller = currentCaller();
      const now = Date.now();
      const entry: AuditEntry = {
        id: newId(now),
        workspaceId,
        at: now,
        action,
        ...callerFields(caller, read),
        ...(resource && { resource }),
        ...(concerns.length > 0 && { concerns }),
        ...fieldChanges(undefined, { fields: parameters }),
        outcome: "unknown",
      };
      await store.change(() => tables.add(entry));
      return entry;
    },
    /**
     * Stores the outcome of an action in its audit entry `entry`, which `begin` returned. `results`
     * has fields of the response to the request. They are added to the changes in the entry.
     */
    async conclude(
      entry: AuditEntry,
      end: { outcome: "done" | "failed"; reason?: string; results?: Fields },
    ) {
      const { outcome, reason, results } = end;
      const { changes } = fieldChanges(undefined, { fields: results ?? {} });
      await store.change(() =>
        tables.replace({
          ...entry,
          changes: [...entry.changes, ...changes],
          outcome,
          ...(reason !== undefined && { reason }),
        }),
      );
    },
    async addRefused(refused: readonly RefusedRequests[]) {
      if (refused.length === 0) return;
      await store.change(() => {
        for (const { workspaceId, tokenId, client, route, ...rest } of refused) {
          const now = Date.now();
          const caller = { ...(tokenId && { tokenId }), route: "", requestId: "" };
          tables.add({
            id: newId(now),
            workspaceId,
            at: now,
            action: "token.refuse",
            actor: callerFields(caller, read).actor,
            ...(client !== undefined && { client }),
            ...(route !== undefined && { request: { id: newId(now), route } }),
            changes: [],
            ...rest,
          });
        }
      });
    },
    /** Deletes the oldest entries until the audit log meets its bounds on age and size. */
    async trim() {
      const now = earliestNow();
      for (let isOver = tables.isOverBounds(now); isOver; ) {
        const deleted = await store.change(() => tables.trim(now, TRIMMED_AT_ONCE_MAX));
        isOver = deleted > 0;
      }
    },
  };
}
