import {
  catalogDirectory,
  deliveryDirectory,
  eventsDirectory,
  expectFittingDirectory,
  figuresFile,
} from "../first-start/data-directory.ts";
import { openFileLogs } from "../ingest/log/file-logs.ts";
import { readDiskSpace } from "../observe/disk.ts";
import { openLedger } from "../pipeline/ledger/ledger.ts";
import { createPipeline } from "../pipeline/pipeline.ts";
import { knownPositions } from "../pipeline/reading/known-positions.ts";
import { segmentBounds } from "../pipeline/retention/retention.ts";
import { openStore } from "../store/lmdb/lmdb-store.ts";
import { type Backend, checkOf, retentionBounds, type StartContext } from "./backend.ts";
import { openServedCatalog } from "./open-catalog.ts";

/**
 * Opens the storage of a standalone server, which is on its own disk. Throws `StartError` when the
 * data directory belongs to a cluster node.
 */
export async function openStandalone(opening: StartContext): Promise<Backend> {
  const { config, logger, metrics, stack } = opening;
  expectFittingDirectory(config);
  const catalog = await openServedCatalog(opening, { directory: catalogDirectory(config) });
  const ledger = openLedger(deliveryDirectory(config), logger);
  stack.defer(() => ledger.close());
  const logs = await openFileLogs({
    directory: eventsDirectory(config),
    count: config["ingest.processes"],
    known: knownPositions(catalog.live, ledger),
    segments: segmentBounds(retentionBounds(config), config["ingest.processes"]),
    logger,
    metrics,
  });
  stack.defer(() => logs.close());
  return {
    catalog,
    logs,
    catalogDirectory: catalogDirectory(config),
    startPipeline(work) {
      const { readers, onDurable } = logs;
      const parts = { live: catalog.live, ledger, readers, onDurable, logger, metrics };
      return createPipeline({
        ...work,
        ...parts,
        disk: () => readDiskSpace(eventsDirectory(config)),
      });
    },
    figures: {
      share: () => 1,
      open: async () => openStore({ path: figuresFile(config), name: "The figures", logger }),
    },
    join() {},
    async leave() {},
    checks: () => ({ delivery: checkOf(ledger.failure()) }),
    warnings: () => [],
  };
}
