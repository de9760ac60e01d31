import { existsSync, readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { Gauge } from "prom-client";
import type { Metrics } from "./metrics.ts";

/**
 * Minimum time in milliseconds between two scans of the data directory. A scan is slow when the
 * event log has thousands of segments (files), such as after a long outage.
 */
const SCAN_INTERVAL_MS = 5_000;
/**
 * Bytes per unit of the field `blocks` in the result of `stat`. This unit is fixed, whatever the
 * block size of the file system.
 */
const STAT_BLOCK_BYTES = 512;

/**
 * Returns the size of the disk that holds a directory, and the number of its bytes that are free
 * for this user.
 */
export function readDiskSpace(directory: string): { freeBytes: number; sizeBytes: number } {
  const { bavail, blocks, bsize } = statfsSync(directory);
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
}

/** Disk space that each part of the data directory uses, and the free space of its disk. */
export type DiskUsage = ReturnType<typeof measureDisk>;

/**
 * Registers metrics for the disk space that the parts of the data directory `data` use, and for its
 * disk's free space. Returns functions that measure both. `parts` maps a part's name to its
 * directory.
 */
export function measureDisk(metrics: Metrics, data: string, parts: Record<string, string>) {
  let scannedAt = Number.NEGATIVE_INFINITY;
  let used: Record<string, number> = {};
  const disk = {
    usedBytes(): Record<string, number> {
      if (performance.now() - scannedAt < SCAN_INTERVAL_MS) return used;
      scannedAt = performance.now();
      used = Object.fromEntries(
        Object.entries(parts).map(([part, directory]) => [part, directoryBytes(directory)]),
      );
      return used;
    },
    freeBytes: () => readDiskSpace(data).freeBytes,
  };
  const registers = [metrics];
  new Gauge({
    name: "pixelmill_disk_used_bytes",
    help: "Space that a part of the data directory takes: events, delivery, catalog, files",
    labelNames: ["part"] as const,
    registers,
    collect() {
      for (const [part, bytes] of Object.entries(disk.usedBytes())) this.set({ part }, bytes);
    },
  });
  new Gauge({
    name: "pixelmill_disk_free_bytes",
    help: "Space that the disk of the data directory has left for this user",
    registers,
    collect() {
      this.set(disk.freeBytes());
    },
  });
  return disk;
}

/**
 * Returns the disk space of all files below a directory, in bytes. 0 when the directory does not
 * exist.
 */
function directoryBytes(directory: string): number {
  if (!existsSync(directory)) return 0;
  let blocks = 0;
  for (const name of readdirSync(directory, { recursive: true }) as string[]) {
    // `statSync` returns undefined for a segment that was deleted after `readdirSync`.
    blocks += statSync(join(directory, name), { throwIfNoEntry: false })?.blocks ?? 0;
  }
  return blocks * STAT_BLOCK_BYTES;
}
