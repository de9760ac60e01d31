/**
 * Deliveries per second of the pipeline over its real parts (event log, catalog, sandbox, ledger,
 * webhook destination), to a receiver in a process of its own on this machine.
 *
 *   bun bench/pipeline.ts [--events 20000] [--lanes 1,10,50,200] [--only NAME]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openCatalog } from "../src/catalog/open.ts";
import { destinationKinds } from "../src/destinations/kinds.ts";
import { createEgress } from "../src/egress/egress.ts";
import { eventOf } from "../src/event/event.ts";
import { decodeRecord, pixelRecordCodec } from "../src/event/record.ts";
import { openLogReader } from "../src/log/reader.ts";
import { openLogWriter } from "../src/log/writer.ts";
import { createLogger } from "../src/observe/log.ts";
import { createMetrics } from "../src/observe/metrics.ts";
import { createPipeline } from "../src/pipeline/pipeline.ts";
import { createPublishing } from "../src/publishing/create.ts";
import { createSandbox } from "../src/sandbox/sandbox.ts";
import { report } from "./report.ts";

const { values } = parseArgs({
  options: {
    events: { type: "string", default: "20000" },
    lanes: { type: "string", default: "1,10,50,200" },
    only: { type: "string" },
  },
});
const logger = createLogger("warn");
const code = `export function transformEvent(event) {
  event.context.page = { ...event.context.page, seen: true };
  return event;
}`;
const query =
  "name=Home&context.library.name=pixel&context.page.path=%2Fpricing&context.page.title=Pricing" +
  "&context.screen.width=1920&properties.plan=pro&properties.revenue=29.99&anonymousId=user-";

interface Case {
  name: string;
  lanes: number;
  events: number;
  type: "webhook" | "file";
  batchSize: number;
  transform: boolean;
}

async function run(one: Case, sinkUrl: string) {
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-bench-"));
  const metrics = createMetrics();
  const catalog = await openCatalog({ directory: join(directory, "catalog"), logger });
  const sandbox = createSandbox({
    guestCommand: [process.execPath, join(import.meta.dir, "../src/main.ts"), "guest"],
    insecure: false,
    log: logger,
  });
  const workspace = await catalog.workspaces.create("Bench");
  const source = await catalog.sources.create(workspace.id, { name: "Source" });
  const destinationIds: string[] = [];
  for (let n = 0; n < one.lanes; n++) {
    const webhook = { webhookUrl: sinkUrl, batchSize: one.batchSize };
    const config = one.type === "webhook" ? webhook : { path: `out-${n}.jsonl` };
    const input = { name: `To ${n}`, type: one.type, config };
    const destination = await catalog.destinations.create(workspace.id, input);
    destinationIds.push(destination.id);
    const connection = { sourceId: source.id, destinationId: destination.id };
    await catalog.connections.create(workspace.id, connection, {});
  }
  if (one.transform) {
    const publishing = createPublishing({ catalog, sandbox });
    const input = { name: "Code", code, language: "javascript" as const, publish: true };
    await publishing.create(workspace.id, "transformation", { ...input, destinationIds });
  }
  const log = join(directory, "log");
  const writer = await openLogWriter({ directory: log, codec: pixelRecordCodec, logger });
  await Promise.all(
    Array.from({ length: one.events }, (_, n) =>
      writer.append({
        ...{ type: "page", receivedAt: Date.now(), sourceId: source.id, clientAddress: "" },
        ...{ messageId: crypto.getRandomValues(new Uint8Array(16)), query: query + (n % 500) },
      }),
    ),
  );
  const reader = await openLogReader({ directory: log, logger });
  reader.advance(writer.durable());

  const egress = createEgress({ allow: ["127.0.0.0/8"] });
  const kinds = destinationKinds({ directory: join(directory, "files"), egress });
  const cpu = process.cpuUsage();
  const started = performance.now();
  const pipeline = createPipeline({
    ...{ live: catalog.live, sandbox, decode: decodeRecord, eventOf, kinds, logger, metrics },
    readers: new Map([["0", reader]]),
    directory: join(directory, "delivery"),
    onDurable: () => () => {},
    retryWindowMs: 3_600_000,
  });
  const lag = metrics.getSingleMetric("pixelmill_lane_lag_events")!;
  const lagNow = async () => (await lag.get()).values.reduce((sum, { value }) => sum + value, 0);
  while ((await lagNow()) > 0) await Bun.sleep(20);
  const seconds = (performance.now() - started) / 1_000;
  const used = process.cpuUsage(cpu);
  await pipeline.close();
  egress.close();
  await sandbox.close();
  await reader.close();
  await writer.close();
  await catalog.close();
  rmSync(directory, { recursive: true });
  const deliveries = one.events * one.lanes;
  return {
    case: one.name,
    lanes: one.lanes,
    deliveries,
    "deliveries/s": Math.round(deliveries / seconds),
    "cpu µs/delivery": Number(((used.user + used.system) / deliveries).toFixed(1)),
    "rss MB": Math.round(process.memoryUsage.rss() / (1 << 20)),
  };
}

const child = Bun.spawn([process.execPath, `${import.meta.dir}/pipeline-sink.ts`], {
  stdout: "pipe",
});
const first = await child.stdout.getReader().read();
const sinkUrl = `http://127.0.0.1:${new TextDecoder().decode(first.value).trim()}/`;

const events = Number(values.events);
const webhook = { type: "webhook", lanes: 1, events } as const;
const cases: Case[] = [
  { ...webhook, name: "as it is, 1 a request", batchSize: 1, transform: false },
  { ...webhook, name: "as it is, 100 a request", batchSize: 100, transform: false },
  { ...webhook, name: "JavaScript, 1 a request", batchSize: 1, transform: true },
  { ...webhook, name: "JavaScript, 100 a request", batchSize: 100, transform: true },
  { ...webhook, name: "as it is, to a file", type: "file", batchSize: 1_000, transform: false },
  ...values.lanes.split(",").map((count): Case => {
    const lanes = Number(count);
    const each = Math.max(500, Math.round((4 * events) / lanes));
    return { ...webhook, name: "lanes", lanes, events: each, batchSize: 100, transform: false };
  }),
];
const rows: Awaited<ReturnType<typeof run>>[] = [];
for (const one of cases) {
  if (values.only !== undefined && !one.name.includes(values.only)) continue;
  rows.push(await run(one, sinkUrl));
}
child.kill();
await report("pipeline", rows);
