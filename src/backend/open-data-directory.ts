import { dirname } from "node:path";
import {
  acquireDataLock,
  catalogDirectory,
  deliveryDirectory,
  eventsDirectory,
  figuresFile,
  filesDirectory,
  prepareDataDirectory,
} from "../first-start/data-directory.ts";
import { type DiskUsage, measureDisk } from "../observe/disk.ts";
import type { StartContext } from "./backend.ts";

/**
 * Creates the data directory, or checks an existing one. Locks it for this server and measures its
 * disk use.
 */
export async function openDataDirectory({
  config,
  metrics,
  stack,
}: StartContext): Promise<DiskUsage> {
  prepareDataDirectory(config);
  stack.defer(await acquireDataLock(config));
  return measureDisk(metrics, config.data, {
    events: eventsDirectory(config),
    delivery: deliveryDirectory(config),
    catalog: catalogDirectory(config),
    files: filesDirectory(config),
    figures: dirname(figuresFile(config)),
  });
}
