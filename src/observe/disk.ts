import { existsSync, readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { Gauge } from "prom-client";
import type { Metrics } from "./metrics.ts";

/**
 * Shortest time between two looks at the disk: after a long outage the log has thousands of
 * segments.
 */
const LOOK_MS_MIN = 5_000;
/** Bytes of a block as `stat` counts them, whatever the file system's own blocks are. */
const STAT_BLOCK_BYTES = 512;

/** What the disk of a directory has left for this user, and its size. */
export function readDiskSpace(directory: string): { freeBytes: number; sizeBytes: number } {
  const { bavail, blocks, bsize } = statfsSync(directory);
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
}

/** Shows how much the directories of each part hold on disk, and how much their disk has left. */
export function registerDiskMetrics(
  metrics: Metrics,
  data: string,
  parts: Record<string, string>,
): void {
  const registers = [metrics];
  let lookedAt = Number.NEGATIVE_INFINITY;
  new Gauge({
    name: "pixelmill_disk_used_bytes",
    help: "Space that a part of the data directory takes: events, delivery, catalog, files",
    labelNames: ["part"] as const,
    registers,
    collect() {
      if (performance.now() - lookedAt < LOOK_MS_MIN) return;
      lookedAt = performance.now();
      for (const [part, directory] of Object.entries(parts)) {
        this.set({ part }, usedBytes(directory));
      }
    },
  });
  new Gauge({
    name: "pixelmill_disk_free_bytes",
    help: "Space that the disk of the data directory has left for this user",
    registers,
    collect() {
      this.set(readDiskSpace(data).freeBytes);
    },
  });
}

/** Bytes on disk of the files below a directory; 0 while the directory does not exist. */
function usedBytes(directory: string): number {
  if (!existsSync(directory)) return 0;
  let blocks = 0;
  for (const name of readdirSync(directory, { recursive: true }) as string[]) {
    // `stat` finds nothing where a segment was trimmed meanwhile.
    blocks += statSync(join(directory, name), { throwIfNoEntry: false })?.blocks ?? 0;
  }
  return blocks * STAT_BLOCK_BYTES;
}
