import { dlopen, FFIType, ptr } from "bun:ffi";
import { pino } from "pino";
import { destinationKinds } from "../../src/destinations/destination-kinds.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { createMetrics } from "../../src/observe/metrics.ts";
import { openLedger } from "../../src/pipeline/ledger/ledger.ts";
import { createPipeline, type PipelineParts } from "../../src/pipeline/pipeline.ts";
import { decode, eventOf, FakeLive, FakeSandbox, MemoryLog, record } from "./doubles.ts";
import { lettersOf, Sink, until } from "./rig.ts";

/**
 * A pipeline whose dead letters outgrow the file size that its process may write; when it has
 * noticed, the limit is lifted, as if an operator had made room; with `restart`, after a restart.
 */
const [directory, count, restart] = process.argv.slice(2) as [string, string, string];
const live = new FakeLive();
const log = new MemoryLog();
const metrics = createMetrics();
const sink = new Sink(() => new Response("", { status: 400 }));
live.addSource();
live.putDestination("one", { config: { webhookUrl: sink.url } });
live.connect("one");
let failures = 0;
const stream = {
  write(line: string) {
    if (line.includes("cannot be written")) failures += 1;
  },
};
const logger = pino({ level: "error" }, stream);
const openAnew = () => openLedger(`${directory}/delivery`, logger);
const parts: PipelineParts = {
  ...{ live, sandbox: new FakeSandbox(), decode, metrics },
  // 20 KB each: some hundred letters fill the disk.
  eventOf: (one) => {
    const event = eventOf(one);
    const { n } = JSON.parse(Buffer.from(event.json).toString());
    return { ...event, json: Buffer.from(JSON.stringify({ n, text: "x".repeat(20_000) })) };
  },
  readers: new Map([["0", log]]),
  kinds: destinationKinds({ directory, egress: createEgress({ allow: ["127.0.0.0/8"] }) }),
  ledger: openAnew(),
  onDurable: log.onDurable,
  retryWindowMs: 3_600_000,
  logger,
};
let pipeline = createPipeline(parts);
for (let n = 0; n < Number(count); n++) log.append(record(n, `user ${n % 20}`));
await until(() => failures > 0, "a full disk");
const stored = pipeline.deadLetters.count("workspace");
if (restart === "true") await pipeline.close();
liftLimit();
if (restart === "true") {
  pipeline = createPipeline({ ...parts, ledger: openAnew(), metrics: createMetrics() });
}
await until(() => pipeline.deadLetters.count("workspace") === Number(count), "all letters");
const numbers = new Set(lettersOf(pipeline).map(({ event }) => (event as { n: number }).n));
await pipeline.close();
sink.close();
process.stdout.write(JSON.stringify({ stored, letters: numbers.size }), () => process.exit(0));

/** Sets the soft limit of the file size to the hard one. */
function liftLimit(): void {
  const { symbols } = dlopen("libc.so.6", {
    setrlimit: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
  });
  const fileSize = 1;
  const unlimited = new BigUint64Array([2n ** 64n - 1n, 2n ** 64n - 1n]);
  if (symbols.setrlimit(fileSize, ptr(unlimited)) !== 0) throw new Error("setrlimit failed");
}
