import { Type } from "@sinclair/typebox";
import { pino } from "pino";
import type { DestinationKind } from "../../src/destinations/destination.ts";
import { createMetrics } from "../../src/observe/metrics.ts";
import { openLedger } from "../../src/pipeline/ledger/ledger.ts";
import { createPipeline } from "../../src/pipeline/pipeline.ts";
import { decode, eventOf, FakeLive, FakeSandbox, MemoryLog, record } from "./doubles.ts";

/**
 * A process to be killed: gathers the events of two logs, which are the same in every life, into
 * objects of a store, and ends when nothing is left to do. With `replay` all but a few live events
 * come by replays, beside those.
 */
const [directory, url, code, count, life, mode] = process.argv.slice(2) as string[];
const isReplay = mode === "replay";
/** Live events beside replays. */
const LIVE = 500;
const logs = new Map(["0", "1"].map((name) => [name, new MemoryLog(name)]));
const live = new FakeLive();
const sandbox = new FakeSandbox();
const metrics = createMetrics();
live.addSource();
live.addSource("other");
live.putDestination("one", { type: "fake" });
live.addSource("fresh");
live.connect("one", {}, { id: "from-fresh", sourceId: "fresh" });
if (!isReplay) {
  live.connect("one", {}, { id: "connection" });
  live.connect("one", {}, { id: "from-other", sourceId: "other" });
}
sandbox.codes.set("steady", (event) => (event.n % 9 === 4 ? [event] : event));
// Its outputs for an event differ from run to run.
sandbox.codes.set("moody", (event) => (Math.random() < 0.3 ? null : event));
live.publish("one", code!, "v1");

const kind: DestinationKind = {
  ...{ kind: "fake", configSchema: Type.Object({}), secretKeys: [], validate: () => [] },
  test: async () => [],
  // Deliveries differ in each life: what is repeated has the events of the one before nevertheless.
  batchSize: () => 20 + ((Number(life) * 37) % 100),
  concurrency: 1,
  batchLimits: () => ({ bytes: 1 << 20, ageMs: 20 + ((Number(life) * 13) % 50) }),
  open: () => ({
    async deliver(events, _, name) {
      const groups = Map.groupBy(events, ({ input }) => `${input.sourceId}/${name}`);
      for (const [key, group] of groups) {
        const numbers = group.map(({ bytes }) => JSON.parse(Buffer.from(bytes).toString()).n);
        await fetch(url + key, { method: "PUT", body: JSON.stringify(numbers) });
      }
      return { kind: "delivered" };
    },
    close: async () => {},
  }),
};

for (let n = 0; n < Number(count); n++) {
  const sourceId = n % 3 === 0 ? "other" : "source";
  // A replay is of a time: the same in every life.
  const receivedAt = isReplay ? 1_000 + n : Date.now();
  const at = record(n, `user ${n % 20}`, { sourceId, receivedAt });
  logs.get(n % 10 < 7 ? "0" : "1")!.append(at);
}
for (let n = 0; isReplay && n < LIVE; n++) {
  logs.get("0")!.append(record(Number(count) + n, `user ${n % 20}`, { sourceId: "fresh" }));
}

const logger = pino({ level: "error" });
const pipeline = createPipeline({
  ...{ live, sandbox, decode, eventOf, metrics, logger },
  timeOf: (bytes) => decode(bytes).receivedAt,
  readers: logs,
  kinds: new Map([["fake", kind]]),
  ledger: openLedger(`${directory}/delivery`, logger),
  onDurable: (listener) => logs.get("0")!.onDurable(listener),
  retryWindowMs: 3_600_000,
});
/** Two, one after the other, since a destination has one at a time. */
async function replay(): Promise<void> {
  const { replays } = pipeline;
  for (const sourceId of ["source", "other"]) {
    const job = () =>
      replays.list("workspace").find((it) => it.kind === "events" && it.sourceId === sourceId);
    if (job() === undefined) {
      await replays.start("workspace", { destinationId: "one", sourceId, from: 1, rate: 20_000 });
    }
    while (job()?.state === "running") await Bun.sleep(10);
  }
}
if (isReplay) await replay();

const lag = async () =>
  (await metrics.getSingleMetric("pixelmill_lane_lag_events")?.get())?.values[0]?.value ?? 1;
while ((await lag()) > 0) await Bun.sleep(10);
await pipeline.close();
process.exit(0);
