/**
 * Measures durable pixel ingest (200 means on disk), without a destination and with a file
 * destination, against servers that answer the same GIF and store less. CPU is that of all
 * pixelmill processes until the last pixel is delivered. Rounds alternate, so that a busy machine
 * affects all alike; compare the ratios.
 *
 *   bun bench/ingest.ts [--seconds 5] [--rounds 3] [--connections 64,256]
 *     [--command dist/pixelmill,OTHER]
 */
import { parseArgs } from "node:util";
import { type Load, measure, median, type Target } from "./load.ts";
import { report, round2 } from "./report.ts";
import { bareBun, bareSocket, durableBun, nginx, pixelmill, withoutLog } from "./targets.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    connections: { type: "string", default: "64,256" },
    command: { type: "string", default: "dist/pixelmill" },
  },
});

const targets: Target[] = [];
for (const command of values.command.split(",")) {
  for (const toFile of [false, true]) {
    const target = await pixelmill({ command, toFile });
    targets.push({ ...target, name: `${target.name} (${command})` });
  }
}
const ours = targets[0]!;
targets.push(await bareBun(), await durableBun(), await bareSocket(), await withoutLog());
const reference = await nginx();
if (reference !== undefined) targets.push(reference);
const rows: Record<string, string | number>[] = [];

for (const connections of values.connections.split(",").map(Number)) {
  const loads = new Map<Target, Load[]>(targets.map((target) => [target, []]));
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const target of targets) {
      const load = await measure(target, { connections, seconds: Number(values.seconds) });
      loads.get(target)!.push(load);
    }
  }
  const of = (target: Target, key: keyof Load) => median(loads.get(target)!.map((it) => it[key]));
  for (const target of targets) {
    rows.push({
      connections,
      target: target.name,
      connected: target.connected ?? "–",
      "responses per CPU-second": Math.round(of(target, "perCpuSecond")),
      "pixelmill / target": round2(of(ours, "perCpuSecond") / of(target, "perCpuSecond")),
      "target / nginx": reference
        ? round2(of(target, "perCpuSecond") / of(reference, "perCpuSecond"))
        : "–",
      "responses per second": Math.round(of(target, "rps")),
      "p50 ms": of(target, "p50Ms"),
      "p99 ms": of(target, "p99Ms"),
      failures: loads.get(target)!.reduce((sum, load) => sum + load.failures, 0),
      limit: of(target, "generatorCpu") > 0.85 ? "load generator" : "server",
    });
  }
}
for (const target of targets) await target.stop();
await report("ingest", rows);
