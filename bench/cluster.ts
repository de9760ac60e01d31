/**
 * `bun bench/cluster.ts`: measures the CPU cost of a record in this process, on segment files and
 * on partitions of three Kafka brokers, which the script starts and stops. Rounds alternate, so
 * that other load on the machine affects both.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PartitionWriter } from "../src/cluster/events/partition-writer.ts";
import { ensureTopic } from "../src/cluster/topics/ensure-topic.ts";
import { connectClients } from "../src/kafka/client.ts";
import { IdempotentProducer } from "../src/kafka/idempotent-producer.ts";
import type { LogWriter, RecordCodec } from "../src/log/event-log.ts";
import { openLogWriter } from "../src/log/writer.ts";
import { createLogger } from "../src/observe/log.ts";
import { startBrokers } from "../test/cluster/brokers.ts";

const RECORD_BYTES = 300;
const ROUNDS = 5;
const ROUND_MS = 3_000;
const PARTITIONS = 4;

const logger = createLogger("silent");
const record = Buffer.alloc(RECORD_BYTES, "pixel ");
const codec: RecordCodec<Buffer> = {
  bytesMax: (it) => it.length,
  encode: (it, into, offset) => offset + it.copy(into, offset),
};

interface Round {
  perCpuSecond: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

/** Runs `inFlight` append loops; each loop uses one of the writers. */
async function run(writers: readonly LogWriter<Buffer>[], inFlight: number): Promise<Round> {
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  const waits: number[] = [];
  const line = async (_: unknown, index: number) => {
    const writer = writers[index % writers.length]!;
    for (let at = startedAt; at < startedAt + ROUND_MS; ) {
      await writer.append(record);
      const now = performance.now();
      waits.push(now - at);
      at = now;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, line));
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  waits.sort((a, b) => a - b);
  const quantile = (q: number) => waits[Math.floor(q * (waits.length - 1))]!;
  return {
    perCpuSecond: waits.length / ((user + system) / 1e6),
    perSecond: waits.length / seconds,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
  };
}

const middle = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]!;

function show(name: string, rounds: Round[]): void {
  const of = (key: keyof Round) =>
    middle(rounds.map((it) => it[key])).toFixed(key.endsWith("Ms") ? 1 : 0);
  const figures = `${of("perCpuSecond")} records per CPU-second, ${of("perSecond")} per second`;
  process.stdout.write(`${name}: ${figures}, p50 ${of("p50Ms")} ms, p99 ${of("p99Ms")} ms\n`);
}

const directory = mkdtempSync(join(tmpdir(), "pixelmill-bench-"));
const brokers = await startBrokers(3);
const clients = await connectClients({ brokers: brokers.addresses });
try {
  const name = "bench";
  await ensureTopic(clients.admin(), { name, partitions: PARTITIONS, replicas: 3 });
  const producer = new IdempotentProducer({ producer: clients.producer(), topic: name });
  const partitions = Array.from(
    { length: PARTITIONS },
    (_, partition) => new PartitionWriter({ partition, producer, codec, end: 0n, logger }),
  );
  const files = [await openLogWriter({ directory, codec, logger })];
  for (const inFlight of [64, 1_024]) {
    await Promise.all([run(partitions, inFlight), run(files, inFlight)]);
    const rounds = { files: [] as Round[], kafka: [] as Round[] };
    for (let round = 0; round < ROUNDS; round++) {
      rounds.files.push(await run(files, inFlight));
      rounds.kafka.push(await run(partitions, inFlight));
    }
    show(`files, ${inFlight} in flight`, rounds.files);
    show(`${PARTITIONS} partitions, ${inFlight} in flight`, rounds.kafka);
  }
  await Promise.all([...files, ...partitions].map((writer) => writer.close()));
} finally {
  await clients.close();
  await brokers.stop();
  rmSync(directory, { recursive: true });
}
