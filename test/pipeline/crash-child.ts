import { pino } from "pino";
import { destinationKinds } from "../../src/destinations/destination-kinds.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { createMetrics } from "../../src/observe/metrics.ts";
import { openLedger } from "../../src/pipeline/ledger/ledger.ts";
import { createPipeline } from "../../src/pipeline/pipeline.ts";
import { decode, eventOf, FakeLive, FakeSandbox, MemoryLog, record } from "./doubles.ts";
import { hurried } from "./hurried.ts";
import { lettersOf } from "./rig.ts";

/**
 * A process to be killed: runs the pipeline over a log of `count` records that is the same in
 * every life, and, when nothing is left to do, prints its dead letters and ends.
 */
const [directory, url, count] = process.argv.slice(2) as [string, string, string];
const log = new MemoryLog();
const live = new FakeLive();
const sandbox = new FakeSandbox();
const metrics = createMetrics();
live.addSource();
live.putDestination("one", { config: { webhookUrl: url, batchSize: 5 } });
live.connect("one", {}, { id: "connection" });
sandbox.codes.set("code", (event) => {
  if (event.n % 10 === 3) return null;
  if (event.n % 10 === 4) throw new Error("Four");
  if (event.n % 10 === 5)
    return [
      { ...event, part: 0 },
      { ...event, part: 1 },
    ];
  return event;
});
live.publish("one", "code", "v1");

const logger = pino({ level: "error" });
const pipeline = createPipeline({
  ...{ live, sandbox, decode, eventOf, metrics },
  readers: new Map([["0", log]]),
  kinds: destinationKinds({ directory, egress: createEgress({ allow: ["127.0.0.0/8"] }) }),
  ledger: openLedger(`${directory}/delivery`, logger),
  onDurable: log.onDurable,
  retryWindowMs: 3_600_000,
  logger,
  clock: hurried(100, Date.now() % 1_000),
});
for (let n = 0; n < Number(count); n++) log.append(record(n, `user ${n % 20}`));

while ((await lag()) > 0) await Bun.sleep(10);
const letters = lettersOf(pipeline);
process.stdout.write(
  JSON.stringify(letters.map(({ event, stage }) => ({ n: (event as { n: number }).n, stage }))),
  () => process.exit(0),
);

async function lag(): Promise<number> {
  const metric = await metrics.getSingleMetric("pixelmill_lane_lag_events")?.get();
  return metric?.values[0]?.value ?? 1;
}
