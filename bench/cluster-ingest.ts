/**
 * `bun bench/cluster-ingest.ts [CONNECTIONS] [ROUNDS]`: measures the CPU cost of a pixel in an
 * ingest process that appends to segment files, and in one that appends to partitions of three
 * Kafka brokers, which the script starts and stops. Rounds alternate, so that other load on the
 * machine affects both.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCatalog } from "../src/catalog/open.ts";
import { openPartitions } from "../src/cli/open-partitions.ts";
import { openPartitionLogs } from "../src/cluster/events/partition-logs.ts";
import { sourceOfRecord } from "../src/event/record.ts";
import { openFileLogs } from "../src/ingest/log/file-logs.ts";
import type { IngestLogs } from "../src/ingest/messages.ts";
import { runIngestProcess } from "../src/ingest/process/main.ts";
import { startIngestProcesses } from "../src/ingest/supervisor/supervisor.ts";
import { connectClients } from "../src/kafka/client.ts";
import { createLogger } from "../src/observe/log.ts";
import { startBrokers } from "../test/cluster/brokers.ts";
import { QUERY } from "./parse-query.ts";

// The script is its own ingest process.
if (process.argv[2] === "ingest") process.exit(await runIngestProcess(openPartitions));

const [connections = "256", rounds = "5"] = process.argv.slice(2);
const PARTITIONS = 12;
const PIXELS = 40_000;
const USERS = 2_000;

const logger = createLogger("silent");
const data = mkdtempSync(join(tmpdir(), "pixelmill-bench-"));
const catalogDirectory = join(data, "catalog");
const catalog = await openCatalog({ directory: catalogDirectory, logger });
const workspace = await catalog.workspaces.create("Bench");
const { writeKey } = await catalog.sources.create(workspace.id, { name: "Site" });

const start = (logs: IngestLogs) =>
  startIngestProcesses({
    ...{ command: [process.execPath, import.meta.path, "ingest"], count: 1, logs, logger },
    ...{ catalogDirectory, host: "127.0.0.1", port: 0, trustedProxies: [], logLevel: "fatal" },
    ...{ recordClientAddress: true, eventsPerSecondMax: 0, connectionsPerNetworkMax: 0 },
  });
type Started = Awaited<ReturnType<typeof start>>;

/** CPU time of a process in seconds, in ticks of 10 ms. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Runs one round; returns pixels per CPU-second of the ingest process, and per second. */
async function run(ingest: Started): Promise<{ perCpuSecond: number; perSecond: number }> {
  const query = QUERY.replace(/^writeKey=[^&]*/, `writeKey=${writeKey}`)
    .replace(/userId=[^&]*/, "userId=user-@U")
    .replace(/anonymousId=[^&]*/, "anonymousId=amp-@U");
  const url = `${ingest.url}/pixel/v1/track?${query}`;
  const [pid] = ingest.pids();
  const cpu = cpuSeconds(pid!);
  const startedAt = performance.now();
  const pixels = join(import.meta.dir, "pixels.ts");
  const load = Bun.spawn(
    [process.execPath, pixels, url, String(PIXELS), "0", connections, String(USERS)],
    { stdout: "ignore", stderr: "inherit" },
  );
  if ((await load.exited) !== 0) throw new Error("The load failed");
  const seconds = (performance.now() - startedAt) / 1000;
  return { perCpuSecond: PIXELS / (cpuSeconds(pid!) - cpu), perSecond: PIXELS / seconds };
}

const middle = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]!;

const brokers = await startBrokers(3);
const settings = { brokers: brokers.addresses };
const clients = await connectClients(settings);
try {
  const files = await openFileLogs({ directory: join(data, "events"), count: 1, logger });
  const topic = { name: "bench", partitions: PARTITIONS, replicas: 3 };
  const options = { clients, brokers: settings, topic, sourceOf: sourceOfRecord, logger };
  const partitions = await openPartitionLogs(options);
  const onFiles = await start(files);
  const onKafka = await start(partitions);
  await Promise.all([run(onFiles), run(onKafka)]);
  const found = { files: [] as number[], kafka: [] as number[], ratio: [] as number[] };
  for (let round = 0; round < Number(rounds); round++) {
    const [a, b] = [await run(onFiles), await run(onKafka)];
    found.files.push(a.perCpuSecond);
    found.kafka.push(b.perCpuSecond);
    found.ratio.push(b.perCpuSecond / a.perCpuSecond);
    const figures = [a.perCpuSecond, b.perCpuSecond, a.perSecond, b.perSecond];
    process.stderr.write(`${figures.map(Math.round).join(" ")}\n`);
  }
  process.stdout.write(
    `${connections} connections: ${Math.round(middle(found.files))} pixels per CPU-second on ` +
      `files, ${Math.round(middle(found.kafka))} on ${PARTITIONS} partitions, ` +
      `ratio ${middle(found.ratio).toFixed(2)}\n`,
  );
  await Promise.all([onFiles.stop(), onKafka.stop()]);
  await Promise.all([files.close(), partitions.close()]);
} finally {
  await clients.close();
  await brokers.stop();
  await catalog.close();
  rmSync(data, { recursive: true });
}
process.exit(0);
