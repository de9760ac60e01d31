/**
 * Pixel ingest, durable (200 means on disk), beside a bare `Bun.serve` that returns the same GIF
 * and keeps nothing. Rounds alternate, so that a busy machine hurts both alike.
 *
 *   bun bench/ingest.ts [--seconds 5] [--rounds 3] [--connections 64,256] [--command dist/pixelmill]
 */
import { parseArgs } from "node:util";
import { removeDirectory, startServer } from "../test/e2e/server.ts";
import { childrenOf, type Load, measure, median, type Target } from "./load.ts";
import { report } from "./report.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    connections: { type: "string", default: "64,256" },
    command: { type: "string" },
  },
});

/** A 300-byte query, as a small page view sends it. */
const query = (writeKey: string) =>
  `/pixel/v1/page?writeKey=${writeKey}&anonymousId=5094f5704b9cf2b3&name=Home&context.library.name=pixel` +
  "&context.page.path=%2Fpricing&context.page.title=Pricing%20and%20plans&context.page.referrer=" +
  "https%3A%2F%2Fexample.com%2F&context.screen.width=1920&context.screen.height=1080&properties.plan=pro" +
  "&properties.revenue=29.99";

async function bareBun(): Promise<Target> {
  const child = Bun.spawn([process.execPath, `${import.meta.dir}/bare-server.ts`], {
    stdout: "pipe",
  });
  const reader = child.stdout.getReader();
  const port = new TextDecoder().decode((await reader.read()).value).trim();
  return {
    name: "bare Bun.serve, keeps nothing",
    url: `http://127.0.0.1:${port}${query("0".repeat(27))}`,
    pids: [child.pid],
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}

async function ours(): Promise<Target> {
  const server = await startServer(values.command ? { command: [values.command] } : {});
  const { body } = await server.api("POST", "/v2/sources", { name: "Bench", type: "http" });
  return {
    name: "pixelmill, on disk",
    url: server.dataPlane + query(body.source.writeKey),
    pids: childrenOf(server.pid, "ingest"),
    async stop() {
      await server.stop();
      removeDirectory(server.directory);
    },
  };
}

const targets = [await bareBun(), await ours()];
const rows: Record<string, string | number>[] = [];
for (const connections of values.connections.split(",").map(Number)) {
  const loads = new Map<Target, Load[]>(targets.map((target) => [target, []]));
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const target of targets) {
      loads
        .get(target)!
        .push(await measure(target, { connections, seconds: Number(values.seconds) }));
    }
  }
  const of = (target: Target, key: keyof Load) => median(loads.get(target)!.map((it) => it[key]));
  for (const target of targets) {
    rows.push({
      connections,
      target: target.name,
      "answers per CPU-second": Math.round(of(target, "perCpuSecond")),
      "ratio to bare": round2(of(target, "perCpuSecond") / of(targets[0]!, "perCpuSecond")),
      "answers per second": Math.round(of(target, "rps")),
      "p50 ms": of(target, "p50Ms"),
      "p99 ms": of(target, "p99Ms"),
      failures: loads.get(target)!.reduce((sum, load) => sum + load.failures, 0),
      limit: of(target, "generatorCpu") > 0.85 ? "load generator" : "server",
    });
  }
}
for (const target of targets) await target.stop();
await report("ingest", rows);

function round2(value: number): number {
  return Math.round(value * 100) / 100;
}
