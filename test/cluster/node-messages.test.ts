import { afterEach, expect, mock, spyOn, test } from "bun:test";
import type { Admin } from "@platformatic/kafka";
import { Packr } from "msgpackr";
import { openNodeBus } from "../../src/cluster/node-bus/node-bus.ts";
import type { FetchResult } from "../../src/cluster/topics/fetch-answer.ts";
import { Fetcher } from "../../src/cluster/topics/fetcher.ts";
import type { KafkaClients } from "../../src/kafka/client.ts";
import { IdempotentProducer } from "../../src/kafka/idempotent-producer.ts";
import { listeningLogger } from "../log/support.ts";
import { passTime } from "../pass-time.ts";
import { until } from "../until.ts";

afterEach(() => void mock.restore());

const packr = new Packr({ useRecords: false });

/** A topic in memory. Its records are sent and fetched while `isOpen`. */
function memoryTopic(records: Buffer[] = []) {
  const topic = { records, isOpen: true, readFailures: 0, sent: 0 };
  spyOn(IdempotentProducer.prototype, "send").mockImplementation(async (_, take) => {
    topic.sent += 1;
    const value = take();
    await new Promise(setImmediate);
    if (!topic.isOpen) throw Object.assign(new Error("Full"), { apiId: "KAFKA_STORAGE_ERROR" });
    return BigInt(records.push(value) - 1);
  });
  const error = Object.assign(new Error("Full"), { apiId: "KAFKA_STORAGE_ERROR" });
  const refusal = { leader: "b:9092", broker: "b:9092", error };
  spyOn(IdempotentProducer.prototype, "refusal").mockReturnValue(refusal);
  spyOn(Fetcher.prototype, "offsets").mockImplementation(async () => [BigInt(records.length)]);
  spyOn(Fetcher.prototype, "fetch").mockImplementation(async (_, from): Promise<FetchResult> => {
    await new Promise(setImmediate);
    if (topic.readFailures-- > 0) throw new Error("Connection closed");
    const values = records
      .slice(Number(from))
      .map((value, at) => ({ offset: from + BigInt(at), value }));
    return { values, first: 0n, end: BigInt(records.length), isOutOfRange: false };
  });
  return topic;
}

const admin = {
  listTopics: async () => ["p.nodes"],
  metadata: async () => ({
    topics: new Map([["p.nodes", { id: "id", partitions: [{ leader: 0, replicas: [0] }] }]]),
  }),
  describeConfigs: async () => [],
  incrementalAlterConfigs: async () => {},
} as unknown as Admin;
const clients = {
  admin: () => admin,
  producer: () => ({}),
  fetchConsumer: () => ({ topics: { track() {} } }),
} as unknown as KafkaClients;

/** A bus of one node, which hears what other nodes publish, and its log lines. */
async function openBus() {
  const { logger, lines } = listeningLogger();
  const bus = await openNodeBus({ clients, name: "p.nodes", replicas: 1, logger });
  const heard: unknown[] = [];
  const unsubscribe = bus.subscribe((message) => heard.push(message));
  // The bus hears what is written once it knows the end of the topic.
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
  return { bus, heard, lines, unsubscribe };
}

const shown = ({ records }: { records: Buffer[] }) =>
  records.map((value) => packr.decode(value)[2].map((it: Uint8Array) => packr.decode(it)));

test("messages reach all other nodes in order, those that wait together in one record", async () => {
  const topic = memoryTopic();
  const [one, two, three] = [await openBus(), await openBus(), await openBus()];
  for (const n of [1, 2, 3]) one.bus.publish({ n });
  two.bus.publish("two");
  await until(() => three.heard.length === 4, "the messages to arrive");
  expect(shown(topic).flat()).toHaveLength(4);
  expect(topic.records).toHaveLength(3);
  expect(two.heard).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  expect(one.heard).toEqual(["two"]);
  expect(three.heard.filter((it) => it !== "two")).toEqual(two.heard);
  three.unsubscribe();
  one.bus.publish("last");
  await until(() => two.heard.length === 4, "the last message to arrive");
  expect(three.heard).toHaveLength(4);
  for (const { bus } of [one, two, three]) await bus.close();
});

test("messages that are too large, or of which too many wait, are dropped", async () => {
  const topic = memoryTopic();
  const { bus } = await openBus();
  const bytes = (count: number) => Buffer.alloc(count, 1);
  // MessagePack writes the length of these bytes in five bytes.
  bus.publish(bytes((512 << 10) - 5 + 1));
  expect(topic.sent).toBe(0);
  bus.publish(bytes((512 << 10) - 5));
  for (let n = 0; n < 20; n++) bus.publish(bytes((256 << 10) - 5));
  await until(() => topic.records.length === 9, "the messages to be sent");
  await until(() => topic.sent === 9, "all to be sent");
  expect(shown(topic).map((messages) => messages.length)).toEqual([1, 2, 2, 2, 2, 2, 2, 2, 2]);
  bus.publish("more");
  await until(() => topic.records.length === 10, "a later message to be sent");
  await bus.close();
});

test("records of newer nodes, and damaged ones, are left out, and newer nodes are named once", async () => {
  const { records } = memoryTopic();
  const { bus, heard, lines } = await openBus();
  const message = packr.encode("ok");
  for (const record of [
    [2, "newer", [message]],
    [3, "newest", "another form"],
    [1, "node", [message, Buffer.from([0xd9, 5])]],
    [0, "older", [message]],
    [1, "node", "no list"],
  ]) {
    records.push(packr.encode(record));
  }
  records.push(Buffer.from([0x93]), Buffer.alloc(0), packr.encode([1, "node", [message]]));
  await until(() => heard.length > 0, "the known record to be heard");
  expect(heard).toEqual(["ok"]);
  expect(lines.map(({ level, msg, format, known }) => [level, msg, format, known])).toEqual([
    [40, "message of a newer node ignored", 2, 1],
  ]);
  await bus.close();
});

test("a bus is in trouble while its messages are refused, or are not read back", async () => {
  const topic = memoryTopic();
  const { bus } = await openBus();
  expect(bus.trouble()).toBeUndefined();
  topic.isOpen = false;
  bus.publish("lost");
  const asks = "p.nodes, over which the nodes ask each other,";
  await until(() => bus.trouble() !== undefined, "the refusal to be seen");
  expect(bus.trouble()).toBe(
    `${asks} is not written: broker b:9092, which leads, cannot write its disk`,
  );
  topic.isOpen = true;
  bus.publish("passes");
  await until(() => bus.trouble() === undefined, "the message to pass");
  topic.readFailures = Number.POSITIVE_INFINITY;
  bus.publish("unread");
  await until(() => topic.records.length === 2, "the message to be written");
  const restore = passTime(3_001);
  expect(bus.trouble()).toBe(`${asks} is not read back by this node`);
  restore();
  await bus.close();
});

test("a bus that could not read continues at the end, without the messages before", async () => {
  const topic = memoryTopic();
  const { bus, heard } = await openBus();
  const pauses = spyOn(Bun, "sleep").mockImplementation(async () => {
    await new Promise(setImmediate);
  });
  topic.readFailures = 2;
  topic.records.push(packr.encode([1, "node", [packr.encode("missed")]]));
  await until(() => topic.readFailures < 0, "the reads to fail");
  const other = await openBus();
  other.bus.publish("later");
  await until(() => heard.length === 1, "the next message to be heard");
  expect(heard).toEqual(["later"]);
  expect(pauses.mock.calls.filter(([ms]) => ms === 250)).toHaveLength(2);
  await other.bus.close();
  await bus.close();
});
