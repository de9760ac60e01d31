/**
 * Measures requests of SDKs at 64 connections, with the events on disk: a single event of 1 KB
 * beside a pixel of the same server, and a gzip batch of 100 such events beside a bare Bun server
 * that inflates and parses the same body and stores nothing. CPU is that of all pixelmill
 * processes; rounds alternate, so that a busy machine affects all alike.
 *
 *   bun bench/sdk.ts [--seconds 5] [--rounds 3] [--connections 64]
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { removeDirectory } from "../test/e2e/server.ts";
import { type Load, measure, median, type Target } from "./load.ts";
import { QUERY } from "./parse-query.ts";
import { report, round2 } from "./report.ts";
import { batchBody, trackEvent } from "./sdk-events.ts";
import { bunServer, pixelmill } from "./targets.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    connections: { type: "string", default: "64" },
    command: { type: "string" },
  },
});
const BATCH_EVENTS = 100;

const files = mkdtempSync(join(tmpdir(), "pixelmill-bench-"));
function fileOf(name: string, content: Uint8Array): string {
  const path = join(files, name);
  writeFileSync(path, content);
  return path;
}
const batch = batchBody(BATCH_EVENTS);
const batchFile = fileOf("batch.json.gz", Bun.gzipSync(new Uint8Array(batch)));
const eventFile = fileOf("event.json", Buffer.from(JSON.stringify(trackEvent(0))));

const server = await pixelmill({ command: values.command });
const bare = await bunServer("bare Bun.serve: gunzip and JSON.parse", "json-parse-server.ts");
const { origin, searchParams } = new URL(server.url);
const writeKey = searchParams.get("writeKey")!;
const json = {
  Authorization: `Basic ${btoa(`${writeKey}:`)}`,
  "Content-Type": "application/json",
};
const gzip = { ...json, "Content-Encoding": "gzip" };

const pixel: Target = { ...server, name: "pixel of 370 bytes" };
const largePixel: Target = {
  ...server,
  name: "pixel of 25 parameters",
  url: `${origin}/pixel/v1/track?${QUERY.replace(/^writeKey=[^&]*/, `writeKey=${writeKey}`)}`,
};
const single: Target = {
  ...server,
  name: "track of 1 KB",
  url: `${origin}/v1/track`,
  post: { bodyFile: eventFile, headers: json },
};
const ours: Target = {
  ...server,
  name: "gzip batch",
  url: `${origin}/v1/batch`,
  post: { bodyFile: batchFile, headers: gzip },
};
const theirs: Target = { ...bare, post: { bodyFile: batchFile, headers: gzip } };

const targets = [pixel, largePixel, single, ours, theirs];
const loads = new Map<Target, Load[]>(targets.map((target) => [target, []]));
const options = { connections: Number(values.connections), seconds: Number(values.seconds) };
for (let round = 0; round < Number(values.rounds); round++) {
  for (const target of targets) loads.get(target)!.push(await measure(target, options));
}

const of = (target: Target, key: keyof Load) => median(loads.get(target)!.map((it) => it[key]));
/** The target that each one is compared with. */
const peers = new Map([
  [single, pixel],
  [largePixel, pixel],
  [ours, theirs],
]);
const rows = targets.map((target) => {
  const peer = peers.get(target) ?? target;
  return {
    request: target.name,
    "requests per CPU-second": Math.round(of(target, "perCpuSecond")),
    "µs of CPU per request": Math.round(1e6 / of(target, "perCpuSecond")),
    "compared with": peer.name,
    "rate / its rate": round2(of(target, "perCpuSecond") / of(peer, "perCpuSecond")),
    "cost / its cost": round2(of(peer, "perCpuSecond") / of(target, "perCpuSecond")),
    "requests per second": Math.round(of(target, "rps")),
    "p99 ms": of(target, "p99Ms"),
    failures: loads.get(target)!.reduce((sum, load) => sum + load.failures, 0),
  };
});
for (const target of [server, bare]) await target.stop();
removeDirectory(files);
await report("sdk", rows);
