import { existsSync, readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { Gauge } from "prom-client";
import type { Metrics } from "./metrics.ts";

/** A scan takes long after a long outage, when the log has thousands of segments. */
const SCAN_INTERVAL_MS = 5_000;
/** Unit of `blocks` in the result of `stat`, whatever the block size of the file system. */
const STAT_BLOCK_BYTES = 512;

/** Bytes that the disk of a directory has left for this user, and its size. */
export function readDiskSpace(directory: string): { freeBytes: number; sizeBytes: number } {
  const { bavail, blocks, bsize } = statfsSync(directory);
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
}

/** Space that the parts of the data directory take, and that its disk has left. */
export interface DiskUsage {
  usedBytes(): Record<string, number>;
  freeBytes(): number;
}

/** Measures the directory of each part, and registers metrics of them. */
export function measureDisk(
  metrics: Metrics,
  data: string,
  parts: Record<string, string>,
): DiskUsage {
  let scannedAt = Number.NEGATIVE_INFINITY;
  let used: Record<string, number> = {};
  const disk: DiskUsage = {
    usedBytes() {
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

/** Bytes on disk of the files below a directory; 0 while the directory does not exist. */
function directoryBytes(directory: string): number {
  if (!existsSync(directory)) return 0;
  let blocks = 0;
  for (const name of readdirSync(directory, { recursive: true }) as string[]) {
    // A segment that was trimmed since `readdirSync` has no `stat`.
    blocks += statSync(join(directory, name), { throwIfNoEntry: false })?.blocks ?? 0;
  }
  return blocks * STAT_BLOCK_BYTES;
}
