/**
 * Measures the CPU cost of an event from the log to a webhook, over the process with the pipeline
 * and its guests: events of pixels beside events of SDKs of the same size, with and without
 * JavaScript. Rounds alternate between them.
 *
 *   bun bench/fan-out.ts [EVENTS] [ROUNDS]
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCatalog } from "../src/catalog/open.ts";
import { destinationKinds } from "../src/destinations/destination-kinds.ts";
import { createEgress } from "../src/egress/egress.ts";
import { eventOf } from "../src/event/event.ts";
import { type EventRecord, eventRecordCodec, readRecord } from "../src/event/record.ts";
import { LossReport } from "../src/log/loss-report.ts";
import { openLogReader } from "../src/log/reader.ts";
import { openLogWriter } from "../src/log/writer.ts";
import { createLogger } from "../src/observe/log.ts";
import { createMetrics } from "../src/observe/metrics.ts";
import { openLedger } from "../src/pipeline/ledger/ledger.ts";
import { createPipeline } from "../src/pipeline/pipeline.ts";
import { createPublisher } from "../src/publishing/create-publisher.ts";
import { createSandbox } from "../src/sandbox/guest-sandbox.ts";
import { boundCommand } from "../test/shared.ts";
import { cpuByPart } from "./cpu.ts";
import { median } from "./load.ts";
import { QUERY } from "./parse-query.ts";
import { code, library } from "./pipeline-cases.ts";
import { report, round2 } from "./report.ts";

const [count = 20_000, rounds = 5] = Bun.argv.slice(2).map(Number);
const logger = createLogger("error");
const directory = mkdtempSync(join(tmpdir(), "pixelmill-bench-"));
const sink = Bun.spawn([...boundCommand, process.execPath, `${import.meta.dir}/pipeline-sink.ts`], {
  stdout: "pipe",
});
const port = new TextDecoder().decode((await sink.stdout.getReader().read()).value).trim();
const sinkUrl = `http://127.0.0.1:${port}/`;

const catalog = await openCatalog({ directory: join(directory, "catalog"), logger });
const guestCommand = [process.execPath, join(import.meta.dir, "../src/main.ts"), "guest"];
const sandbox = createSandbox({ guestCommand, insecure: false, log: logger });
const publishing = createPublisher({ catalog, sandbox });
const writer = await openLogWriter({
  directory: join(directory, "events"),
  codec: eventRecordCodec,
  logger,
});
const reader = await openLogReader({
  directory: join(directory, "events"),
  losses: new LossReport({ logger }),
});
let announce = () => {};
const pipeline = createPipeline({
  ...{ live: catalog.live, sandbox, eventOf, logger, decode: readRecord },
  readers: new Map([["0", reader]]),
  kinds: destinationKinds({
    directory: join(directory, "files"),
    egress: createEgress({ allow: ["127.0.0.0/8"] }),
  }),
  ledger: openLedger(join(directory, "delivery"), logger),
  onDurable(listener) {
    announce = listener;
    return () => {};
  },
  retryWindowMs: 3_600_000,
  metrics: createMetrics(),
});

const base = { receivedAt: Date.UTC(2026, 10, 20), sourceId: "", clientAddress: "203.0.113.9" };
/** Returns a pixel whose event is larger by `zeros` bytes. */
const pixelOf = (zeros: number): EventRecord => ({
  ...{ ...base, type: "track", query: `${QUERY}&properties.t0=${"0".repeat(zeros)}` },
  messageId: new Uint8Array(16).fill(0x77),
});
const T0_BYTES = 17;
/** The event of a pixel, as an SDK sends it. */
const sent = JSON.parse(Buffer.from(eventOf(pixelOf(T0_BYTES)).json).toString());
for (const name of ["type", "receivedAt", "request_ip"]) delete sent[name];
const json: EventRecord = {
  ...{ ...base, format: "json", type: "track", messageId: undefined, sentAt: undefined },
  json: Buffer.from(JSON.stringify(sent)),
};
/** Bytes of what events of SDKs have besides: `timestamp`, `rudderId` and `context.ip`. */
const more = eventOf(json).json.length - eventOf(pixelOf(T0_BYTES)).json.length;
const pixel = pixelOf(T0_BYTES + more);
const records = { pixel, SDK: json };
const { id: workspaceId } = await catalog.workspaces.create("Bench");
await publishing.create(workspaceId, "library", {
  ...{ name: "shopKit", code: library, language: "javascript", publish: true },
});

/** Returns the CPU time of an event in µs. */
async function run(record: EventRecord, isTransformed: boolean): Promise<number> {
  const source = await catalog.sources.create(workspaceId, { name: "Bench" });
  const destination = await catalog.destinations.create(workspaceId, {
    ...{ name: "Sink", type: "webhook", config: { webhookUrl: sinkUrl, batchSize: 100 } },
  });
  if (isTransformed) {
    await publishing.create(workspaceId, "transformation", {
      ...{ name: `Code ${destination.id}`, code, language: "javascript", publish: true },
      events: [sent],
      destinationIds: [destination.id],
    });
  }
  const pair = { sourceId: source.id, destinationId: destination.id };
  await catalog.connections.create(workspaceId, pair, await pipeline.logEnds());
  const own = { ...record, sourceId: source.id };
  for (let n = 0; n < count; n += 1_000) {
    await Promise.all(Array.from({ length: 1_000 }, () => writer.append(own)));
  }
  await fetch(sinkUrl, { method: "DELETE" });
  const total = () => Object.values(cpuByPart(process.pid)).reduce((sum, part) => sum + part, 0);
  const before = total() - ownSink();
  reader.advance(writer.durable());
  announce();
  while (((await (await fetch(sinkUrl)).json()) as { events: number }).events < count) {
    await Bun.sleep(50);
  }
  const cost = total() - ownSink() - before;
  await catalog.destinations.remove(workspaceId, destination.id);
  return cost / count;
}

/** CPU time of the receiver, which is a child of this process too. */
function ownSink(): number {
  return Object.values(cpuByPart(sink.pid)).reduce((sum, part) => sum + part, 0);
}

const costs = new Map<string, number[]>();
for (let round = 0; round < rounds; round++) {
  for (const isTransformed of [false, true]) {
    for (const [name, record] of Object.entries(records)) {
      const key = `${name}${isTransformed ? ", JavaScript" : ""}`;
      costs.set(key, [...(costs.get(key) ?? []), await run(record, isTransformed)]);
    }
  }
}
await report(
  "fan-out",
  [...costs].map(([name, all]) => ({ case: name, "µs of CPU per event": round2(median(all)) })),
);
await pipeline.close();
await sandbox.close();
await Promise.all([writer.close(), reader.close(), catalog.close()]);
sink.kill();
rmSync(directory, { recursive: true });
