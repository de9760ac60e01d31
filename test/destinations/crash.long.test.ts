import { expect } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { connectClients } from "../../src/kafka/client.ts";
import { brokersMissing } from "../cluster/brokers.ts";
import { sharedBrokers } from "../cluster/shared-brokers.ts";
import { testWith } from "../counterpart.ts";
import {
  pixel,
  removeDirectory,
  type Server,
  startServer,
  temporaryDirectory,
  waitFor,
} from "../e2e/server.ts";
import { ClickhouseServer, clickhouseMissing } from "./clickhouse/clickhouse-server.ts";
import { eventsOf } from "./formats.ts";
import { readTopic } from "./kafka-topic.ts";
import { PostgresServer, postgresMissing } from "./postgres/postgres-server.ts";
import { S3Server, s3Missing } from "./s3/s3-server.ts";

/** `CRASH_ROUNDS=20 bun test test/destinations/crash.long.test.ts` kills more often. */
const rounds = Number(process.env.CRASH_ROUNDS ?? 2);

/** A real database, and how to count what is in its table `tracks`. */
interface Target {
  type: string;
  config: Record<string, unknown>;
  /** Values of the property `n`, one for each row, doubled rows too. */
  numbers(): Promise<string[]>;
  /** Whether an event that a crash leaves undecided may be there twice. */
  repeats?: boolean;
  /** Ids of the messages in the order of each partition. */
  partitions?(): Promise<string[][]>;
  end(): Promise<void>;
}

async function postgres(): Promise<Target> {
  const server = await PostgresServer.start();
  return {
    type: "postgres",
    config: { ...server.account, tls: "off" },
    numbers: async () => (await server.ask("select n from public.tracks")).split("\n"),
    end: () => server.end(),
  };
}

async function clickhouse(): Promise<Target> {
  const server = await ClickhouseServer.start();
  return {
    type: "clickhouse",
    config: server.account,
    numbers: async () => (await server.ask("select n from default.tracks final")).split("\n"),
    end: () => server.end(),
  };
}

/** Objects are named so that a repeated one replaces itself; some are uploaded at any time. */
async function s3(): Promise<Target> {
  const server = await S3Server.start();
  const gathering = { batchAgeMs: 60, batchSize: 40 };
  return {
    type: "s3",
    config: { ...server.config, ...gathering, format: "parquet" },
    async numbers() {
      const keys = await server.keys();
      const files = await Promise.all(
        keys.map(async (key) => eventsOf(key, await server.bytes(key))),
      );
      return files.flat().map((event) => (event as { properties: { n: string } }).properties.n);
    },
    end: () => server.end(),
  };
}

/** Small files that end while events come; a repeated append is there twice. */
async function files(directory: string): Promise<Target> {
  const root = join(directory, "data/files");
  return {
    type: "file",
    config: { path: "in/e.jsonl", rotateBytes: 10_000 },
    repeats: true,
    async numbers() {
      const names = readdirSync(root, { recursive: true }).map(String);
      const read = names.filter((name) => name.endsWith(".jsonl"));
      const events = await Promise.all(
        read.map((name) => eventsOf(name, readFileSync(join(root, name)))),
      );
      return events.flat().map((event) => (event as { properties: { n: string } }).properties.n);
    },
    async end() {},
  };
}

/** Events that a crash leaves unsettled arrive twice: their producer is gone. */
async function kafka(): Promise<Target> {
  const brokers = await sharedBrokers(1);
  const clients = await connectClients({ brokers: brokers.addresses });
  const topic = "events";
  await clients.admin().createTopics({ topics: [topic], partitions: 3, replicas: 1 });
  return {
    type: "kafka",
    repeats: true,
    config: { brokers: brokers.addresses[0]!, topic, tls: "off" },
    async numbers() {
      const read = await readTopic(clients, topic);
      return read.map(({ value }) => (value as { properties: { n: string } }).properties.n);
    },
    async partitions() {
      const read = await readTopic(clients, topic);
      const byPartition = Map.groupBy(read, ({ partition }) => partition);
      return [...byPartition.values()].map((records) =>
        records.map(({ headers }) => headers.messageId!),
      );
    },
    async end() {
      await clients.close();
      await brokers.stop();
    },
  };
}

/**
 * Expects that a partition repeats only the last messages before a kill, in their order: what the
 * ledger did not know yet. Returns the number of repeats.
 */
function expectRepeatedEnds(ids: readonly string[]): number {
  const places = new Map<string, number>();
  let repeats = 0;
  let last = -1;
  for (const [at, id] of ids.entries()) {
    const place = places.get(id);
    if (place !== undefined) repeats += 1;
    // A message follows the one before it; only a kill leads back.
    const isNext = (place ?? places.size) === last + 1;
    if (!isNext && place === undefined) {
      throw new Error(`Message ${at} follows a repeat of message ${last} of ${places.size}`);
    }
    last = place ?? places.size;
    if (place === undefined) places.set(id, last);
  }
  return repeats;
}

async function connect(server: Server, { type, config }: Target): Promise<string> {
  const made = async (path: string, body: object) => {
    const answer = await server.api("POST", path, body);
    if (answer.status > 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  };
  const { source } = await made("/v2/sources", { name: "Website", type: "http" });
  const { destination } = await made("/v2/destinations", { name: "Warehouse", type, config });
  await made("/v2/connections", { sourceId: source.id, destinationId: destination.id });
  return source.writeKey;
}

/** Sends pixels until the server dies; each answered 200 is noted. */
async function load(server: Server, writeKey: string, acknowledged: Set<string>, round: number) {
  const workers = Array.from({ length: 8 }, async (_, worker) => {
    for (let index = 0; ; index++) {
      const n = `${round}-${worker}-${index}`;
      // New columns come all the time: tables are widened in the middle of it.
      const fresh = { [`properties.p${index % 50}_${round}`]: String(index) };
      const query = { writeKey, userId: `u${worker}`, event: "Load", "properties.n": n, ...fresh };
      const response = await pixel(server, "track", query).catch(() => undefined);
      if (response?.status !== 200) return;
      acknowledged.add(n);
    }
  });
  await Promise.all(workers);
}

for (const { name, missing, start } of [
  { name: "PostgreSQL", missing: postgresMissing, start: postgres },
  { name: "ClickHouse", missing: clickhouseMissing, start: clickhouse },
  { name: "S3", missing: s3Missing, start: s3 },
  { name: "Kafka", missing: brokersMissing, start: kafka },
  { name: "files", missing: undefined, start: files },
]) {
  const title = `SIGKILL during batches into ${name} loses no event, and repeats none where the destination can tell`;
  const run = async () => {
    const directory = temporaryDirectory();
    const target = await start(directory);
    const acknowledged = new Set<string>();
    try {
      let writeKey = "";
      for (let round = 0; round < rounds; round++) {
        const server = await startServer({ directory });
        if (round === 0) writeKey = await connect(server, target);
        const before = acknowledged.size;
        const loaded = load(server, writeKey, acknowledged, round);
        const wanted = 200 + Math.random() * 400;
        await waitFor(() => acknowledged.size - before >= wanted);
        await server.stop("SIGKILL");
        await loaded;
      }
      const server = await startServer({ directory });
      let numbers: string[] = [];
      const missing = async () => {
        numbers = await target.numbers().catch(() => []);
        return acknowledged.difference(new Set(numbers));
      };
      await waitFor(async () => (await missing()).size === 0).catch(() => {});
      expect([...(await missing())]).toEqual([]);
      if (!target.repeats) expect(numbers.length).toBe(new Set(numbers).size);
      const partitions = (await target.partitions?.()) ?? [];
      const repeats = partitions.map(expectRepeatedEnds).reduce((sum, one) => sum + one, 0);
      // The same event has the same message id.
      if (target.partitions) expect(repeats).toBe(numbers.length - new Set(numbers).size);
      expect(await server.stop()).toBe(0);
    } finally {
      await target.end();
      removeDirectory(directory);
    }
  };
  testWith(missing)(title, run, 300_000 + rounds * 30_000);
}
