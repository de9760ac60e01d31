import { join } from "node:path";
import { brokerSettings } from "../backend/broker-settings.ts";
import { storedOffsetBase, syncOffsetBase } from "../backend/partition-ledgers.ts";
import { openCatalog } from "../catalog/open.ts";
import {
  logNameOf,
  openPartitionLogs,
  type PartitionLogs,
} from "../cluster/events/partition-logs.ts";
import { PartitionWriter } from "../cluster/events/partition-writer.ts";
import { endProver, type ProveEnd } from "../cluster/events/proven-end.ts";
import { offsetOf } from "../cluster/events/sequence.ts";
import { openOrderedTopic } from "../cluster/ordered-log/ordered-topic.ts";
import { StartError } from "../errors.ts";
import {
  decodeRecord,
  type EventRecord,
  eventRecordCodec,
  sourceOfRecord,
} from "../event/record.ts";
import { userHashOf } from "../event/record-user.ts";
import { clusterDirectory, topicIds } from "../first-start/data-directory.ts";
import { connectClients, type KafkaClients } from "../kafka/client.ts";
import { IdempotentProducer } from "../kafka/idempotent-producer.ts";
import type { LogReader } from "../log/event-log.ts";
import type { Logger } from "../observe/log.ts";
import { Ledger } from "../pipeline/ledger/ledger.ts";
import type { Config } from "../settings/keys.ts";
import { openView } from "../store/lmdb/view.ts";
import { OrderedStore } from "../store/ordered/ordered-store.ts";
import { type Store, withoutClose } from "../store/store.ts";
import type { CopiedEvents } from "./copy.ts";
import type { unsettledEvents } from "./unsettled.ts";

/**
 * Number of bytes that a copy appends to all new logs together before it waits until they are
 * durable. The number is small because even slow brokers must acknowledge the bytes within the log
 * writers' time limit.
 */
export const APPENDED_BYTES_MAX = 4 << 20;

export const ledgerOptions = (logger: Logger) => ({ name: "The ledger", logger });

export const catalogOptions = (directory: string, logger: Logger) => ({
  path: join(directory, "catalog.mdb"),
  name: "The catalog",
  logger,
});

/**
 * Appends events with `append`, and waits until all are durable. `append` returns the log's name
 * and a promise that resolves when the event is durable. Returns the events' keys, by log, in the
 * order of appending.
 */
export async function appendAll(
  events: ReturnType<typeof unsettledEvents>,
  append: (record: EventRecord) => { log: string; done: Promise<void> },
): Promise<Map<string, string[]>> {
  const keys = new Map<string, string[]>();
  let waiting: Promise<void>[] = [];
  let waitingBytes = 0;
  for await (const { key, bytes } of events) {
    const record = decodeRecord(bytes);
    // `after` contains positions in the old server's logs.
    record.after = undefined;
    const { log, done } = append(record);
    // A rejection before the wait below would end the process.
    done.catch(() => {});
    keys.getOrInsert(log, []).push(key);
    waiting.push(done);
    waitingBytes += bytes.length;
    if (waitingBytes < APPENDED_BYTES_MAX) continue;
    await Promise.all(waiting);
    waiting = [];
    waitingBytes = 0;
  }
  await Promise.all(waiting);
  return keys;
}

/** Throws `StartError` when the setting `cluster.kafka` has no brokers. */
export function expectBrokers(config: Config): void {
  if (config["cluster.kafka"].length === 0)
    throw new StartError("Expected the setting cluster.kafka");
}

/** Opens the Kafka topics of a cluster. Throws `StartError` if a node of the cluster is running. */
export async function openStoppedCluster(
  config: Config,
  logger: Logger,
  stack: AsyncDisposableStack,
) {
  const brokers = brokerSettings(config);
  const clients = await connectClients(brokers);
  stack.defer(() => clients.close());
  await expectNoNodes(clients, config["cluster.name"]);
  const replicas = config["cluster.replicas"];
  const named = (name: string) => `${config["cluster.name"]}.${name}`;
  const logs = await openPartitionLogs({
    clients,
    brokers,
    logger,
    topic: { name: named("events"), partitions: config["cluster.partitions"], replicas },
    sourceOf: sourceOfRecord,
  });
  stack.defer(() => logs.close());
  const partitions = logs.readers.size;
  const order = { clients, replicas, logger, ids: topicIds(config) };
  const orders = await openOrderedTopic({ ...order, name: named("ledgers"), partitions });
  const stores = orders.map((log, partition) => {
    const path = clusterDirectory(config, `ledger/${partition}`);
    const options = ledgerOptions(logger);
    return new OrderedStore({ ...options, local: openView({ path, ...options }), log });
  });
  const ledgers = stores.map((store) => new Ledger(withoutClose(store), logger));
  stack.defer(async () => {
    await Promise.all(ledgers.map((ledger) => ledger.close()));
    await Promise.all(stores.map((store) => store.close()));
  });
  await Promise.all(stores.map((store) => store.catchUp()));
  for (const [partition, store] of stores.entries())
    syncOffsetBase(store, logs, logNameOf(partition));
  await readEnds(logs, stores, endProver(clients, named("events")));
  const directory = clusterDirectory(config, "catalog");
  const [log] = await openOrderedTopic({ ...order, name: named("catalog"), partitions: 1 });
  const options = catalogOptions(directory, logger);
  const view = openView(options);
  const catalog = new OrderedStore({ ...options, local: view, log: log! });
  stack.defer(() => catalog.close());
  await catalog.catchUp();
  const claims = () => ledgers.map((ledger) => ledger.owner()?.claim);
  const claimsBefore = claims();
  return {
    catalog,
    view,
    logs,
    ledgers: new Map(ledgers.map((ledger, partition) => [logNameOf(partition), ledger])),
    ledgerOf: (log: string): Store => stores[Number(log.slice(1))]!,
    ledgerOfUser: (user: string): Store => stores[Number(Bun.hash(user) % BigInt(partitions))]!,
    append: (events: ReturnType<typeof unsettledEvents>) =>
      appendToCluster({ clients, logs, logger, topic: named("events") }, events),
    /**
     * Throws `StartError` if the cluster already has data. If no node has ever run, workspaces with
     * the ids in `own` are allowed, because an interrupted import has copied them.
     */
    expectNew(own: ReadonlySet<string>) {
      const ids = [...catalog.table<unknown, string>("workspaces").getKeys({})];
      const hasRun = claimsBefore.some((claim) => claim !== undefined);
      if (ids.length === 0 || (!hasRun && ids.every((id) => own.has(id)))) return;
      throw new StartError(
        `Expected a cluster without data, but ${config["cluster.name"]} has some`,
      );
    },
    /**
     * Throws `StartError` if a node is running, or has run partitions since this command opened the
     * topics. Such a node may have deleted imported data whose destinations were not yet in the
     * catalog.
     */
    async expectNoNodeSince() {
      await expectNoNodes(clients, config["cluster.name"]);
      await Promise.all(stores.map((store) => store.catchUp()));
      if (Bun.deepEquals(claims(), claimsBefore)) return;
      throw new StartError(
        `Expected no node to run meanwhile, but a node of ${config["cluster.name"]} did; stop all nodes and repeat the command`,
      );
    },
    /**
     * Opens the local copy of the cluster's catalog. The copy has all changes in the Kafka topic.
     */
    async openCatalog() {
      const opened = await openCatalog({ directory, logger });
      stack.defer(() => opened.close());
      return opened;
    },
  };
}

/**
 * Appends a test block to each partition of the event log, then makes `logs` request the
 * partitions' ends. Throws `StartError` if an end does not include the test block, because a former
 * leader has answered.
 */
async function readEnds(
  logs: PartitionLogs,
  stores: readonly Store[],
  proveEnd: ProveEnd,
): Promise<void> {
  const proven = await Promise.all(stores.map((_, partition) => proveEnd(partition)));
  await logs.ends();
  for (const [partition, store] of stores.entries()) {
    const end = BigInt(proven[partition]! + (storedOffsetBase(store)?.base ?? 0));
    const found = offsetOf(logs.readers.get(logNameOf(partition))!.end());
    if (found > end) continue;
    const expected = `Expected partition ${partition} of the events to end after block ${end}`;
    throw new StartError(
      `${expected}, got an end at ${found}: a broker is cut off from the others`,
    );
  }
}

async function expectNoNodes(clients: KafkaClients, group: string): Promise<void> {
  const found = (await clients.admin().describeGroups({ groups: [group] })).get(group);
  const count = found?.members.size ?? 0;
  if (count === 0) return;
  throw new StartError(
    `Expected no node to run, but ${group} has ${count}; stop all nodes and repeat the command`,
  );
}

interface SharedParts {
  clients: KafkaClients;
  logs: PartitionLogs;
  logger: Logger;
  topic: string;
}

/**
 * Appends `events` to the cluster's logs. First deletes all events in these logs, which an earlier,
 * interrupted import has left. Returns what was appended to each log.
 */
async function appendToCluster(
  { clients, logs, logger, topic }: SharedParts,
  events: ReturnType<typeof unsettledEvents>,
): Promise<Map<string, CopiedEvents>> {
  const before = await logs.ends();
  for (const [log, reader] of logs.readers) await reader.trim(before[log] ?? 0);
  const producer = new IdempotentProducer({ producer: clients.producer(), topic });
  const writers = [...logs.readers.keys()].map(
    (_, partition) =>
      new PartitionWriter({ partition, producer, codec: eventRecordCodec, end: 0n, logger }),
  );
  const keys = await appendAll(events, (record) => {
    const partition = userHashOf(record) % writers.length;
    return { log: logNameOf(partition), done: writers[partition]!.append(record) };
  });
  await Promise.all(writers.map((writer) => writer.close()));
  const ends = await logs.ends();
  const placed = new Map<string, CopiedEvents>();
  for (const [log, reader] of logs.readers) {
    const end = ends[log] ?? 0;
    const sequences = await sequencesOf(reader, before[log] ?? 0, end);
    const expected = keys.get(log) ?? [];
    if (sequences.length !== expected.length) {
      throw new StartError(
        `Expected ${expected.length} events in ${log}, found ${sequences.length}`,
      );
    }
    placed.set(log, { keys: expected, sequences, end });
  }
  return placed;
}

async function sequencesOf(reader: LogReader, from: number, end: number): Promise<number[]> {
  const sequences: number[] = [];
  for (let at = from; at < end; ) {
    const { records, next } = await reader.read(at, 4 << 20);
    for (const { sequence } of records) sequences.push(sequence);
    if (next <= at) break;
    at = next;
  }
  return sequences;
}
