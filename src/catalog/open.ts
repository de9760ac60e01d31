import type { Logger } from "../observe/log.ts";
import type { CompactionBounds } from "../store/ordered/log-compaction.ts";
import type { OrderedLog } from "../store/ordered/ordered-log.ts";
import { openAlerts } from "./alerts/alerts.ts";
import { openAlertTables } from "./alerts/tables.ts";
import { openAuditLog } from "./audit/audit.ts";
import { AUDIT_BOUNDS, type AuditBounds, AuditTables } from "./audit/audit-log.ts";
import { recordChanges } from "./audit/recorded-store.ts";
import type { ShowConfig } from "./audit/recorded-tables.ts";
import type { Catalog } from "./catalog.ts";
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
import { upgrade } from "./upgrade.ts";

/**
 * Opens the catalog in a directory, creating the directory when it is missing. Several processes
 * may have the same catalog open.
 */
export async function openCatalog(options: {
  directory: string;
  logger: Logger;
  /**
   * Log in which the nodes of a cluster store their changes in one order. Without it, the catalog
   * belongs to this machine alone.
   */
  order?: OrderedLog;
  /**
   * Sizes at which the cluster's log of changes, `order`, is compacted (written again without
   * outdated entries). Absent for the defaults.
   */
  bounds?: CompactionBounds;
  /** Maximum number of items of each kind that a workspace may own. Absent for no limits. */
  itemsMax?: ItemsMax;
  /** Bounds of the audit log that differ from the defaults. */
  audit?: Partial<AuditBounds>;
  /**
   * Called with a sentence when the log in `order` has entries of a newer release, which this
   * release cannot read.
   */
  onNewer?(reason: string): void;
}): Promise<Catalog> {
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
    await upgrade(store, tables, codeTables);
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
    audit: openAuditLog(store, auditTables, (show) => {
      showConfig = show;
    }),
    current: () => store.catchUp(),
    conditionally: (condition, run) => store.conditionally(condition, run),
    trouble: () => store.trouble(),
    setItemsMax: (max) => limits.setMax(max),
    async close() {
      await flush();
      await store.close();
    },
  };
}
