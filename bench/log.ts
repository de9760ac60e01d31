/**
 * Compares appends to the event log with LMDB, SQLite, and bare synchronous writes, which are the
 * upper bound of the disk. Rounds alternate, so that a busy machine affects all alike.
 *
 *   bun bench/log.ts [--seconds 2] [--rounds 3] [--in-flight 64,256] [--bytes 300]
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { median } from "./load.ts";
import type { AppendResult } from "./log-append.ts";
import { designs } from "./log-designs.ts";
import { report, round2 } from "./report.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "2" },
    rounds: { type: "string", default: "3" },
    "in-flight": { type: "string", default: "64,256" },
    bytes: { type: "string", default: "300" },
  },
});
const names = Object.keys(designs);
const rows: Record<string, string | number>[] = [];

for (const inFlight of values["in-flight"].split(",")) {
  const results = new Map(names.map((name) => [name, [] as AppendResult[]]));
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const name of names) results.get(name)!.push(await measure(name, inFlight));
  }
  const perCpu = (name: string) =>
    median(results.get(name)!.map((it) => it.records / it.cpuSeconds));
  for (const [name, all] of results) {
    rows.push({
      design: name,
      "in flight": Number(inFlight),
      "records per CPU-second": Math.round(perCpu(name)),
      "× lmdb": round2(perCpu(name) / perCpu("lmdb, put and flushed")),
      "records per second": Math.round(median(all.map((it) => it.records / it.seconds))),
      "p50 ms": round2(median(all.map((it) => it.p50Ms))),
      "p99 ms": round2(median(all.map((it) => it.p99Ms))),
      "write amplification": round2(median(all.map((it) => it.amplification))),
    });
  }
}
await report("log", rows);

async function measure(name: string, inFlight: string): Promise<AppendResult> {
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-bench-"));
  try {
    const script = join(import.meta.dir, "log-append.ts");
    const child = Bun.spawn(
      [process.execPath, script, name, directory, inFlight, values.bytes, values.seconds],
      { stdout: "pipe", stderr: "inherit" },
    );
    return JSON.parse(await new Response(child.stdout).text());
  } finally {
    rmSync(directory, { recursive: true });
  }
}
