import type { Catalog } from "../catalog/catalog.ts";
import type { Logger } from "../observe/log.ts";

/** Time in milliseconds between two deletions of old entries from the audit log. */
const PAUSE_MS = 3_600_000;

/**
 * Deletes the entries that exceed the bounds of the audit log, every hour. In a cluster, every node
 * does this; a node that finds nothing to delete writes nothing. Returns a function that ends the
 * hourly deletions.
 */
export function startAuditRetention({ audit }: Pick<Catalog, "audit">, logger: Logger): () => void {
  const timer = setInterval(() => {
    audit.trim().catch((error: unknown) => {
      logger.warn({ err: error }, "old audit entries not deleted");
    });
  }, PAUSE_MS);
  timer.unref();
  return () => clearInterval(timer);
}
