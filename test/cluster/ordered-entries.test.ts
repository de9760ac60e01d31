import { afterEach, expect, mock, spyOn, test } from "bun:test";
import type { Admin } from "@platformatic/kafka";
import { openOrderedTopic } from "../../src/cluster/ordered-log/ordered-topic.ts";
import type { FetchResult } from "../../src/cluster/topics/fetch-answer.ts";
import { Fetcher } from "../../src/cluster/topics/fetcher.ts";
import type { KafkaClients } from "../../src/kafka/client.ts";
import { IdempotentProducer } from "../../src/kafka/idempotent-producer.ts";
import type { LogEntry } from "../../src/store/ordered/ordered-log.ts";
import { listeningLogger } from "../log/support.ts";
import { until } from "../until.ts";

afterEach(() => void mock.restore());

/** An ordered log on a topic in memory, whose entries are fetched one by one. */
async function openLog(values: Buffer[] = []) {
  const topic = { values, first: 0, readFailure: undefined as Error | undefined };
  const calls: unknown[] = [];
  const fetched: number[] = [];
  spyOn(IdempotentProducer.prototype, "send").mockImplementation(async (_, take) =>
    BigInt(values.push(take()) - 1),
  );
  spyOn(Fetcher.prototype, "brokerOffset").mockImplementation(async () => ({
    topicId: "id",
    offset: BigInt(values.length),
  }));
  spyOn(Fetcher.prototype, "fetch").mockImplementation(async (_, from): Promise<FetchResult> => {
    fetched.push(Number(from));
    await new Promise(setImmediate);
    if (topic.readFailure !== undefined) throw topic.readFailure;
    const [first, end] = [BigInt(topic.first), BigInt(values.length)];
    const isOutOfRange = from < first || from > end;
    const value = isOutOfRange ? undefined : values[Number(from)];
    return { values: value ? [{ offset: from, value }] : [], first, end, isOutOfRange };
  });
  const admin = {
    listTopics: async () => ["p.catalog"],
    metadata: async () => ({
      topics: new Map([["p.catalog", { id: "id", partitions: [{ leader: 0, replicas: [0] }] }]]),
    }),
    describeConfigs: async () => [],
    deleteRecords: async (request: unknown) => calls.push(request),
  } as unknown as Admin;
  const clients = {
    admin: () => admin,
    producer: () => ({}),
    fetchConsumer: () => ({ topics: { track() {} } }),
    isOpen: () => true,
  } as unknown as KafkaClients;
  const { logger, lines } = listeningLogger();
  const options = { clients, name: "p.catalog", partitions: 1, replicas: 1, logger };
  const [log] = await openOrderedTopic(options);
  return { log: log!, topic, calls, fetched, lines };
}

const textOf = ({ position, bytes }: LogEntry) => `${position} ${Buffer.from(bytes).toString()}`;
const entries = (...texts: string[]) => texts.map((text) => Buffer.from(text));

test("entries are followed in order from a position on, also those that are appended later", async () => {
  const { log } = await openLog(entries("a", "b", "c"));
  const taken: string[] = [];
  const follower = log.follow(1, async (batch) => void taken.push(...batch.map(textOf)));
  await until(() => taken.length === 2, "the entries to be taken");
  expect(await log.append(Buffer.from("d"))).toBe(3);
  expect(await log.knownEnd()).toBe(4);
  await until(() => taken.length === 3, "the appended entry to be taken");
  await follower.close();
  expect(taken).toEqual(["1 b", "2 c", "3 d"]);
  await log.append(Buffer.from("e"));
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
  expect(taken).toHaveLength(3);
});

test("entries that are not taken are given again, and closing waits for those being taken", async () => {
  const { log } = await openLog(entries("a", "b"));
  const sleeps = spyOn(Bun, "sleep").mockImplementation(() => new Promise(setImmediate));
  const given: string[] = [];
  const taking = Promise.withResolvers<void>();
  const follower = log.follow(0, async (batch) => {
    given.push(...batch.map(textOf));
    if (given.length === 1) throw new Error("Not now");
    if (given.length === 3) await taking.promise;
  });
  await until(() => given.length === 3, "all entries to be given");
  expect(given).toEqual(["0 a", "0 a", "1 b"]);
  expect(sleeps.mock.calls.filter(([ms]) => ms === 250)).toHaveLength(1);
  let isClosed = false;
  const closing = follower.close().then(() => {
    isClosed = true;
  });
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
  expect(isClosed).toBe(false);
  taking.resolve();
  await closing;
  expect(given).toHaveLength(3);
});

test("about a megabyte of entries is fetched ahead of those that are taken", async () => {
  const values = Array.from({ length: 6 }, () => Buffer.alloc(512 << 10, "x"));
  const { log, fetched } = await openLog(values);
  const gate = Promise.withResolvers<void>();
  let taken = 0;
  const follower = log.follow(0, async () => {
    if (taken === 0) await gate.promise;
    taken += 1;
  });
  await until(() => fetched.includes(2), "entries to be fetched ahead");
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  expect(fetched).toEqual([0, 1, 2]);
  gate.resolve();
  await until(() => taken === 6, "all entries to be taken");
  await follower.close();
});

test("a follower continues after entries that were trimmed, and names a log that lost its end", async () => {
  const { log, topic, calls, lines } = await openLog(entries("a", "b", "c", "d"));
  spyOn(Bun, "sleep").mockImplementation(() => new Promise(setImmediate));
  await log.trim(2);
  const partitions = [{ partition: 0, offset: 2n }];
  expect(calls).toEqual([{ topics: [{ name: "p.catalog", partitions }] }]);
  topic.first = 2;
  const taken: string[] = [];
  const follower = log.follow(0, async (batch) => void taken.push(...batch.map(textOf)));
  await until(() => taken.length === 2, "the kept entries to be taken");
  expect(taken).toEqual(["2 c", "3 d"]);
  expect(log.trouble()).toBeUndefined();
  topic.values.length = 3;
  const loss = "Expected entry 4 of the topic p.catalog to be the next, but it has entries 2 to 3";
  await until(() => log.trouble() !== undefined, "the loss to be seen");
  expect(log.trouble()).toBe(`The topic p.catalog cannot be read: ${loss}`);
  topic.values.push(Buffer.from("d"), Buffer.from("e"));
  await until(() => taken.length === 3, "a later entry to be taken");
  expect(log.trouble()).toBeUndefined();
  await follower.close();
  expect(lines.map(({ msg, topic: name, partition }) => [msg, name, partition])).toEqual([
    ["topic cannot be read", "p.catalog", 0],
    ["topic can be read again", "p.catalog", 0],
  ]);
});

test("a topic is unreadable after four failed reads, and a closed follower reads no more", async () => {
  const { log, topic, fetched, lines } = await openLog(entries("a"));
  const sleeps = spyOn(Bun, "sleep").mockImplementation(() => new Promise(setImmediate));
  topic.readFailure = new Error("No leader");
  const follower = log.follow(0, async () => {});
  await until(() => log.trouble() !== undefined, "the failures to be seen");
  expect(log.trouble()).toBe("The topic p.catalog cannot be read: No leader");
  await until(() => fetched.length > 8, "more reads to fail");
  expect(lines.map(({ msg }) => msg)).toEqual(["topic cannot be read"]);
  expect(sleeps.mock.calls.some(([ms]) => ms === 250)).toBe(true);
  await follower.close();
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
  const count = fetched.length;
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
  expect(fetched).toHaveLength(count);
});
