import type { Logger } from "../observe/log.ts";
import type { CompactionBounds } from "../store/ordered/log-compaction.ts";
import type { OrderedLog } from "../store/ordered/ordered-log.ts";
import { whileUnavailable } from "../store/while-unavailable.ts";
import { openAlerts } from "./alerts/alerts.ts";
import { openAlertTables } from "./alerts/tables.ts";
import { openAuditLog } from "./audit/audit.ts";
import { AUDIT_BOUNDS, type AuditBounds, AuditTables } from "./audit/audit-log.ts";
import { recordChanges } from "./audit/recorded-store.ts";
import type { ShowConfig } from "./audit/recorded-tables.ts";
import { openCode } from "./code/code.ts";
import { openTestCases } from "./code/test-cases.ts";
import { openLive } from "./live.ts";
import { openConnections } from "./management/connections.ts";
import { openCredentials } from "./management/credentials.ts";
import { openDestinations } from "./management/destinations.ts";
import { openIdentities } from "./management/identities.ts";
import { ItemLimits, type ItemsMax } from "./management/item-limits.ts";
import { openMembers } from "./management/members.ts";
import { openRouting } from "./management/routing.ts";
import { openSessions } from "./management/sessions.ts";
import { openSources } from "./management/sources.ts";
import { openTokens } from "./management/tokens.ts";
import { openWorkspaces } from "./management/workspaces.ts";
import { openStore } from "./store.ts";
import { openCodeTables } from "./tables/code-tables.ts";
import { openTables } from "./tables/tables.ts";
import { recordUpgradeSteps } from "./upgrade.ts";

interface CatalogOptions {
  directory: string;
  logger: Logger;
  /**
   * Log, shared by the nodes of a cluster, that puts the catalog changes of all nodes in one order.
   * Without it, the catalog belongs to this machine alone.
   */
  order?: OrderedLog;
  /**
   * Sizes at which the log in `order` is compacted, that is, rewritten without its superseded
   * entries. If absent, the default sizes apply.
   */
  bounds?: CompactionBounds;
  /** Maximum items of each kind in a workspace. A kind without a maximum is unlimited. */
  itemsMax?: ItemsMax;
  /** Bounds on the audit log's age and sizes. An absent bound has its default in `AUDIT_BOUNDS`. */
  audit?: Partial<AuditBounds>;
  /**
   * Called when the log in `order` has entries that a newer release wrote and this release cannot
   * read. `reason` is a sentence that says why.
   */
  onNewer?(reason: string): void;
}

/**
 * Opens the catalog in a directory, creating the directory when it is missing. Several processes
 * may have the same catalog open.
 */
export async function openCatalog(options: CatalogOptions) {
  const { directory, logger, order } = options;
  const unrecorded = openStore(directory, logger, order, options);
  const auditTables = new AuditTables(unrecorded, { ...AUDIT_BOUNDS, ...options.audit });
  let showConfig: ShowConfig = () => ({});
  const store = recordChanges(unrecorded, {
    add: (entry) => auditTables.add(entry),
    showConfig: (type, config) => showConfig(type, config),
  });
  const tables = openTables(store);
  const codeTables = openCodeTables(store);
  const alertTables = openAlertTables(store);
  try {
    await store.recover();
    await (order === undefined
      ? recordUpgradeSteps(store)
      : whileUnavailable(() => recordUpgradeSteps(store)));
  } catch (error) {
    await store.close();
    throw error;
  }
  const limits = new ItemLimits(options.itemsMax ?? {}, tables, codeTables);
  const { flush, principalOf, ...tokens } = openTokens(store, tables, limits, options.logger);
  return {
    workspaces: openWorkspaces(store, tables),
    members: openMembers(store, tables, limits),
    tokens,
    sessions: openSessions(store, tables, limits, principalOf),
    identities: openIdentities(store, tables, limits),
    credentials: openCredentials(store, tables, limits),
    sources: openSources(store, tables, limits),
    destinations: openDestinations(store, tables, codeTables, limits),
    connections: openConnections(store, tables, limits),
    code: openCode(store, tables, codeTables, limits),
    testCases: openTestCases(store, codeTables),
    alerts: openAlerts(store, alertTables),
    live: openLive(store, tables, codeTables),
    routing: openRouting(store, tables, codeTables),
    audit: {
      ...openAuditLog(store, auditTables),
      /**
       * Sets the function that returns a destination's config without secrets, for entries of the
       * audit log. Until it is set, an entry names the changed parts of a config without their
       * values.
       */
      showConfigsWith(show: ShowConfig): void {
        showConfig = show;
      },
    },
    /**
     * Waits until reads on this node see every change that any node of the cluster had confirmed
     * when this method was called. Rejects with `unavailable` when the node cannot find out which
     * changes were confirmed.
     */
    current: () => store.catchUp(),
    /**
     * Calls `run`. Each change of the catalog that `run` makes first calls `condition` inside its
     * transaction. If `condition` throws, the change rejects with that error and writes nothing.
     */
    conditionally: store.conditionally,
    /**
     * Returns a sentence that says why changes cannot be stored now; `undefined` while they can be
     * stored.
     */
    trouble: () => store.trouble(),
    /** Replaces the maximum numbers of items of each kind that a workspace may own. */
    setItemsMax: (max: ItemsMax) => limits.setMax(max),
    /** Stores the uses of tokens that are recorded in memory, then closes the catalog. */
    async close() {
      await flush();
      await store.close();
    },
  };
}
