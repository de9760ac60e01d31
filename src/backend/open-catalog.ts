import type { Catalog } from "../catalog/catalog.ts";
import { openCatalog } from "../catalog/open.ts";
import type { Logger } from "../observe/log.ts";
import { auditBoundsOf, itemsMaxOf, type StartContext } from "./backend.ts";

/**
 * Opens the catalog with the limits from the settings (items per workspace, age of audit entries),
 * and deletes expired audit entries until the server stops.
 */
export async function openServedCatalog(
  { config, logger, stack }: StartContext,
  storage: Pick<Parameters<typeof openCatalog>[0], "directory" | "order" | "onNewer">,
): Promise<Catalog> {
  const bounds = { itemsMax: itemsMaxOf(config), audit: auditBoundsOf(config) };
  const catalog = await openCatalog({ ...storage, ...bounds, logger });
  stack.defer(() => catalog.close());
  stack.defer(startAuditRetention(catalog, logger));
  return catalog;
}

/** Time in milliseconds between two deletions of old entries from the audit log. */
const AUDIT_TRIM_INTERVAL_MS = 3_600_000;

/**
 * Starts an hourly deletion of the entries that exceed the bounds of the audit log, also on every
 * node of a cluster. Returns a function that stops the deletions.
 */
export function startAuditRetention({ audit }: Pick<Catalog, "audit">, logger: Logger): () => void {
  const timer = setInterval(() => {
    audit.trim().catch((error: unknown) => {
      logger.warn({ err: error }, "old audit entries not deleted");
    });
  }, AUDIT_TRIM_INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
