import { auditBoundsOf } from "../backend/backend.ts";
import { runAs } from "../catalog/audit/caller.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { newId } from "../catalog/ids.ts";
import { catalogDirectory, expectStandaloneData } from "../first-start/data-directory.ts";
import { createLogger } from "../observe/log.ts";
import type { Config } from "../settings/keys.ts";

/**
 * Opens the catalog, calls `use` with it, and closes it. A server may have the catalog open at the
 * same time. Throws `StartError` when the data directory belongs to a node of a cluster.
 */
export async function withCatalog(
  config: Config,
  use: (catalog: Catalog) => Promise<void> | void,
): Promise<void> {
  expectStandaloneData(config);
  const logger = createLogger(config["log.level"]);
  // Imported only when a command runs: LMDB unpacks a library, which `--help` must not do.
  const { openCatalog } = await import("../catalog/open.ts");
  const directory = catalogDirectory(config);
  const catalog = await openCatalog({ directory, logger, audit: auditBoundsOf(config) });
  try {
    await runAs({ route: "command line", requestId: newId() }, () => use(catalog));
  } finally {
    await catalog.close();
  }
}
