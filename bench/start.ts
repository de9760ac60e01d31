/**
 * Measures the executable before the first event: its size, the time from start to both ready
 * lines (on a fresh and on a used data directory), and idle memory of all its processes.
 *
 *   npm run build && bun bench/start.ts [--rounds 10] [--command dist/pixelmill]
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { childrenOf, removeDirectory, startServer, waitFor } from "../test/e2e/server.ts";
import { median } from "./load.ts";
import { report, round2 } from "./report.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "10" },
    command: { type: "string", default: "dist/pixelmill" },
  },
});
const executable = resolve(values.command);
const fresh: number[] = [];
const used: number[] = [];
const memory: Record<string, number>[] = [];

for (let round = 0; round < Number(values.rounds); round++) {
  const first = await timed(fresh);
  await waitFor(() =>
    fetch(`${first.controlPlane}/ready`).then((answer) => answer.ok || undefined),
  );
  await Bun.sleep(1_000);
  memory.push({
    server: pssMb([first.pid]),
    ingest: pssMb(childrenOf(first.pid, "ingest")),
    guests: pssMb(childrenOf(first.pid, "guest")),
  });
  await first.stop();
  await (await timed(used, first.directory)).stop();
  removeDirectory(first.directory);
}

async function timed(times: number[], directory?: string) {
  const startedAt = performance.now();
  const server = await startServer({ command: [executable], ...(directory && { directory }) });
  times.push(performance.now() - startedAt);
  return server;
}

/** Proportional set size in MB: counts pages that processes share once. */
function pssMb(pids: number[]): number {
  return pids.reduce((sum, pid) => {
    const kib = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8").match(/^Pss:\s+(\d+)/m)![1];
    return sum + Number(kib) / 1_024;
  }, 0);
}

const part = (name: string) => Math.round(median(memory.map((it) => it[name]!)));
await report("start", [
  {
    "executable MB": round2(Bun.file(executable).size / 1e6),
    "ready, fresh data, p50 ms": Math.round(median(fresh)),
    "ready, used data, p50 ms": Math.round(median(used)),
    "idle PSS MB: server": part("server"),
    ingest: part("ingest"),
    "warm guests": part("guests"),
  },
]);
