import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { SentPixels } from "./sent-pixels.ts";
import type { Site } from "./site.ts";

/** Row of the soak's table: resource usage in one minute. Memory and disk are in MB. */
export interface Sample {
  minute: number;
  acknowledged: number;
  lagEvents: number[];
  deadLetters: number;
  server: ProcessSample | undefined;
  ingest: ProcessSample | undefined;
  guestsMb: number[];
  diskMb: Record<string, number>;
  load: number;
}

interface ProcessSample {
  residentMb: number;
  threads: number;
  descriptors: number;
}

const MB = 1 << 20;

export async function sampleOf(site: Site, pixels: SentPixels, ms: number): Promise<Sample> {
  const { server, ingest, guests } = site.processes();
  const metrics = await site.metrics();
  return {
    minute: Math.round(ms / 6_000) / 10,
    acknowledged: pixels.acknowledged,
    lagEvents: metrics("pixelmill_lane_lag_events"),
    deadLetters: metrics("pixelmill_dead_letters").reduce((sum, count) => sum + count, 0),
    server: processSample(server),
    ingest: processSample(ingest),
    guestsMb: guests.map((pid) => processSample(pid)?.residentMb ?? 0),
    diskMb: Object.fromEntries(
      ["events", "delivery", "catalog"].map((name) => [
        name,
        (sizeOf(join(site.data, name)) / MB) | 0,
      ]),
    ),
    load: Number(readFileSync("/proc/loadavg", "utf8").split(" ")[0]),
  };
}

/** Samples a process; returns undefined if it has ended. */
function processSample(pid: number | undefined): ProcessSample | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const field = (name: string) =>
      Number(status.match(new RegExp(`^${name}:\\s+(\\d+)`, "m"))![1]);
    return {
      residentMb: Math.round(field("VmRSS") / 1_024),
      threads: field("Threads"),
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
    };
  } catch {
    return undefined;
  }
}

/** Disk usage in bytes of all files below a directory. */
function sizeOf(directory: string): number {
  let bytes = 0;
  for (const name of readdirSync(directory, { recursive: true }) as string[]) {
    try {
      bytes += statSync(join(directory, name)).blocks * 512;
    } catch {
      // The file was trimmed since the listing.
    }
  }
  return bytes;
}
