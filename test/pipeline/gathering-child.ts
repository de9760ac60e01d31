import { Type } from "@sinclair/typebox";
import { pino } from "pino";
import type { DestinationKind } from "../../src/destinations/destination.ts";
import { createMetrics } from "../../src/observe/metrics.ts";
import { createPipeline } from "../../src/pipeline/pipeline.ts";
import { openLedger } from "../../src/pipeline/settling/ledger.ts";
import { decode, eventOf, FakeLive, FakeSandbox, MemoryLog, record } from "./doubles.ts";

/**
 * A process to be killed: gathers the events of two logs, which are the same in every life, into
 * objects of a store, and ends when nothing is left to do.
 */
const [directory, url, code, count, life] = process.argv.slice(2) as string[];
const logs = new Map(["0", "1"].map((name) => [name, new MemoryLog(name)]));
const live = new FakeLive();
const sandbox = new FakeSandbox();
const metrics = createMetrics();
live.addSource();
live.addSource("other");
live.putDestination("one", { type: "fake" });
live.connect("one", {}, { id: "connection" });
live.connect("one", {}, { id: "from-other", sourceId: "other" });
sandbox.codes.set("steady", (event) => (event.n % 9 === 4 ? [event] : event));
// What it makes of an event differs from run to run.
sandbox.codes.set("moody", (event) => (Math.random() < 0.3 ? null : event));
live.publish("one", code!, "v1");

const kind: DestinationKind = {
  ...{ kind: "fake", configSchema: Type.Object({}), secretKeys: [], validate: () => [] },
  test: async () => [],
  // Deliveries differ in each life: what is repeated has the events of the one before all the same.
  batchSize: () => 20 + ((Number(life) * 37) % 100),
  concurrency: () => 1,
  gathering: () => ({ bytes: 1 << 20, ageMs: 20 + ((Number(life) * 13) % 50) }),
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

const logger = pino({ level: "error" });
const pipeline = createPipeline({
  ...{ live, sandbox, decode, eventOf, metrics, logger },
  readers: logs,
  kinds: new Map([["fake", kind]]),
  ledger: openLedger(`${directory}/delivery`, logger),
  onDurable: (listener) => logs.get("0")!.onDurable(listener),
  retryWindowMs: 3_600_000,
});
for (let n = 0; n < Number(count); n++) {
  const sourceId = n % 3 === 0 ? "other" : "source";
  const at = record(n, `user ${n % 20}`, { sourceId });
  logs.get(n % 10 < 7 ? "0" : "1")!.append(at);
}

const lag = async () =>
  (await metrics.getSingleMetric("pixelmill_lane_lag_events")?.get())?.values[0]?.value ?? 1;
while ((await lag()) > 0) await Bun.sleep(10);
await pipeline.close();
process.exit(0);
