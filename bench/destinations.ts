/**
 * Measures events per CPU-second for each kind of destination, against the fastest plain client of
 * the same system, which checks nothing and knows the columns beforehand; and the latency from a
 * pixel to its row. Rounds alternate, so that a busy machine affects all alike.
 *
 *   bun bench/destinations.ts [KIND …] [--batches 20] [--rounds 5] [--seconds 20] [--per-second 50]
 */
import { parseArgs } from "node:util";
import { createEgress } from "../src/egress/egress.ts";
import { pixel, removeDirectory, startServer } from "../test/e2e/server.ts";
import { cases, type Running } from "./destination-cases.ts";
import { kafkaCases } from "./kafka-case.ts";
import { median } from "./load.ts";
import { objectCases } from "./object-cases.ts";
import { report, round2 } from "./report.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    batches: { type: "string", default: "20" },
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "20" },
    "per-second": { type: "string", default: "50" },
  },
});
const BATCH = 1_000;
const batches = Number(values.batches);
let made = 0;

function eventOf(n: number): Uint8Array {
  const at = new Date().toISOString();
  const event = {
    type: "track",
    event: "Order Completed",
    messageId: crypto.randomUUID(),
    channel: "web",
    anonymousId: crypto.randomUUID(),
    userId: `user-${n % 5_000}`,
    request_ip: "203.0.113.7",
    receivedAt: at,
    sentAt: at,
    originalTimestamp: at,
    integrations: { All: true },
    context: { library: { name: "js", version: "3.1" }, screen: { width: 1920, height: 1080 } },
    properties: {
      page_url: `https://example.com/p/${n}?a=b`,
      page_title: "Pricing – Äpfel",
      price: n / 4,
      seats: n % 50,
      plan: "growth",
      is_trial: n % 2 === 0,
      n,
    },
  };
  return Buffer.from(JSON.stringify(event));
}

interface Cost {
  /** CPU time per event in µs, of the client alone. */
  client: number;
  /** CPU time per event in µs, of the client and the server. */
  both: number;
}

/** Measures the CPU time per event of `work`, which resolves with a number of events. */
async function costOf(running: Running, work: () => Promise<number>): Promise<Cost> {
  const server = running.serverCpu();
  const own = process.cpuUsage();
  const others = await work();
  const { user, system } = process.cpuUsage(own);
  const client = user + system + others;
  const count = batches * BATCH;
  return { client: client / count, both: (client + running.serverCpu() - server) / count };
}

async function throughput(running: Running) {
  const open = running.kind.open(running.config, "workspace");
  const { signal } = new AbortController();
  const events = () => Array.from({ length: BATCH }, () => eventOf(made++));
  const input = { messageId: "m", sourceId: "s", receivedAt: Date.now(), type: "track" };
  const ours: Cost[] = [];
  const plain: Cost[] = [];
  // One extra round: the first creates the tables.
  for (let round = 0; round <= Number(values.rounds); round++) {
    const all = Array.from({ length: batches }, events);
    const outgoing = all.map((batch) => batch.map((bytes) => ({ bytes, input, byCode: true })));
    const cost = await costOf(running, async () => {
      for (const batch of outgoing) {
        const verdict = await open.deliver(batch, signal);
        if (verdict.kind !== "delivered") throw new Error(verdict.reason);
      }
      return 0;
    });
    const plainCost = await costOf(running, async () => {
      let others = 0;
      for (const batch of all) others += await running.plain(batch);
      return others;
    });
    if (round === 0) continue;
    ours.push(cost);
    plain.push(plainCost);
  }
  await open.close();
  return { ours, plain };
}

/** Milliseconds from sending each pixel until its row exists. */
async function latencies(running: Running, type: string): Promise<number[]> {
  const server = await startServer();
  try {
    const api = async (path: string, body: object) => (await server.api("POST", path, body)).body;
    const { source } = await api("/v2/sources", { name: "Website", type: "http" });
    const { config } = running;
    const { destination } = await api("/v2/destinations", { name: "Warehouse", type, config });
    await api("/v2/connections", { sourceId: source.id, destinationId: destination.id });
    const perSecond = Number(values["per-second"]);
    const count = Number(values.seconds) * perSecond;
    const start = performance.now();
    const sent: Promise<unknown>[] = [];
    for (let n = 0; n < count; n++) {
      await Bun.sleep(Math.max(0, start + (n * 1_000) / perSecond - performance.now()));
      const query = { writeKey: source.writeKey, userId: `u${n % 100}`, event: "Paced" };
      sent.push(pixel(server, "track", { ...query, "properties.sent": String(Date.now()) }));
    }
    await Promise.all(sent);
    let found: number[] = [];
    for (let tries = 0; tries < 200 && found.length < count; tries++) {
      await Bun.sleep(100);
      found = await running.latencies();
    }
    return found.sort((a, b) => a - b);
  } finally {
    await server.stop();
    removeDirectory(server.directory);
  }
}

const per = (costs: Cost[], part: keyof Cost) => median(costs.map((cost) => cost[part]));
const rows: Record<string, string | number>[] = [];
for (const { name, plainly, missing, start } of [...cases, ...objectCases, ...kafkaCases]) {
  if (missing !== undefined || (positionals.length > 0 && !positionals.includes(name))) continue;
  const egress = createEgress({ allow: ["127.0.0.0/8"] });
  const running = await start(egress);
  try {
    const { ours, plain } = await throughput(running);
    await running.stamp();
    const waited = await latencies(running, running.kind.kind);
    const at = (share: number) => Math.round(waited[Math.floor(share * (waited.length - 1))] ?? 0);
    rows.push({
      destination: name,
      "events/CPU-s": Math.round(1e6 / per(ours, "client")),
      plain: `${plainly} ${Math.round(1e6 / per(plain, "client"))}`,
      "ratio to plain": round2(per(plain, "client") / per(ours, "client")),
      "events/CPU-s with server": Math.round(1e6 / per(ours, "both")),
      "ratio with server": round2(per(plain, "both") / per(ours, "both")),
      "pixel to row, p50 ms": at(0.5),
      "p99 ms": at(0.99),
    });
  } finally {
    await running.end();
    egress.close();
  }
}
await report("destinations", rows);
