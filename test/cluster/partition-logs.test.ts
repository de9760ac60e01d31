import { afterEach, expect, spyOn, test } from "bun:test";
import type { Admin } from "@platformatic/kafka";
import { PartitionLogs } from "../../src/cluster/events/partition-logs.ts";
import { sequenceOf } from "../../src/cluster/events/sequence.ts";
import type { FetchResult } from "../../src/cluster/topics/fetch-answer.ts";
import { Fetcher } from "../../src/cluster/topics/fetcher.ts";
import { sourceOfRecord } from "../../src/event/record.ts";
import type { KafkaClients } from "../../src/kafka/client.ts";
import { HEADER_BYTES, sealBlock } from "../../src/log/block.ts";
import { listeningLogger } from "../log/support.ts";
import { until } from "../until.ts";

const spies: { mockRestore(): void }[] = [];
afterEach(() => {
  for (const spy of spies.splice(0)) spy.mockRestore();
});

/**
 * The logs of a topic whose partitions have `end` empty blocks each, and the offsets fetched from
 * it.
 */
async function openLogs(end = 0n, partitions = 1) {
  const fetched: bigint[] = [];
  const askedOf = new Set<number>();
  const numbers = Array.from({ length: partitions }, (_, partition) => partition);
  const at = (offset: bigint) => new Map(numbers.map((partition) => [partition, offset]));
  const ends = {
    ...{ topicId: "id", offsets: at(end), failures: new Map<number, unknown>() },
  };
  spies.push(
    spyOn(Fetcher.prototype, "brokerOffsets").mockImplementation(async (which) =>
      which === "end" ? ends : { ...ends, offsets: at(0n) },
    ),
    spyOn(Fetcher.prototype, "fetch").mockImplementation(
      async (partition, offset): Promise<FetchResult> => {
        fetched.push(offset);
        askedOf.add(partition);
        await new Promise(setImmediate);
        const values = offset < end ? [{ offset, value: emptyBlock() }] : [];
        return { values, first: 0n, end, isOutOfRange: offset > end };
      },
    ),
  );
  const consumer = { topics: { track() {} } };
  const deleted: unknown[] = [];
  const admin = { deleteRecords: async (request: unknown) => deleted.push(request) };
  const { logger, lines } = listeningLogger();
  const logs = new PartitionLogs(
    {
      clients: { fetchConsumer: () => consumer } as unknown as KafkaClients,
      brokers: { brokers: ["b:9092"] },
      topic: { name: "p.events", partitions, replicas: 1 },
      sourceOf: sourceOfRecord,
      logger,
    },
    admin as unknown as Admin,
  );
  await logs.learnEnds();
  return { logs, fetched, askedOf, ends, deleted, lines };
}

function emptyBlock(): Buffer {
  const block = Buffer.alloc(HEADER_BYTES);
  sealBlock(block, HEADER_BYTES, 0, 0);
  return block;
}

test("a closed log asks the brokers for nothing, though a partition of it is followed", async () => {
  const { logs, fetched } = await openLogs();
  logs.follow("k0");
  await until(() => fetched.length > 2, "the partition to be fetched");
  await logs.close();
  const before = fetched.length;
  for (let turn = 0; turn < 30; turn++) await new Promise(setImmediate);
  expect(fetched).toHaveLength(before);
});

test("a log that is followed does not read its older blocks again after an answer that it ends earlier", async () => {
  const { logs, fetched, ends } = await openLogs(100n);
  logs.follow("k0");
  await until(() => fetched.length > 2, "the partition to be fetched");
  ends.offsets = new Map([[0, 98n]]);
  await logs.learnEnds();
  ends.offsets = new Map([[0, 100n]]);
  fetched.length = 0;
  await until(() => fetched.length > 5, "the partition to be fetched further");
  await logs.close();
  expect(fetched.filter((offset) => offset < 98n)).toEqual([]);
  expect(logs.readers.get("k0")!.end()).toBe(sequenceOf(100n));
});

test("a log that moved is followed from its end on, whose older blocks are read only when needed", async () => {
  const { logs, fetched } = await openLogs(100n);
  logs.follow("k0");
  logs.setOffsetBase("k0", { topic: "id", base: 20 }, 80);
  fetched.length = 0;
  await until(() => fetched.length > 5, "the partition to be fetched");
  await logs.close();
  expect(fetched.filter((offset) => offset < 100n)).toEqual([]);
});

test("ends that cannot be asked for are blamed on all brokers", async () => {
  const { logs } = await openLogs();
  const failure = Object.assign(new Error("No broker answers"), { code: "PLT_KFK_NETWORK" });
  spies.push(spyOn(Fetcher.prototype, "brokerOffsets").mockRejectedValue(failure));
  logs.watch();
  const trouble = "No partition of the event log answers: the brokers do not answer this node";
  await until(() => logs.trouble() === trouble, "all brokers to be blamed");
  await logs.close();
});

test("ends that one leader does not answer hide no ends of others, and are named", async () => {
  const { logs, ends } = await openLogs(2n);
  ends.failures.set(1, new Error("No leader"));
  const both = await logs.learnEnds();
  expect(both.ends).toEqual({ k0: sequenceOf(2n) });
  expect([...both.failures.keys()]).toEqual([1]);
  // The partition is there, though nothing of it is known.
  expect([...logs.readers].map(([log, reader]) => [log, reader.end()])).toEqual([
    ["k0", sequenceOf(2n)],
    ["k1", 0],
  ]);
  const partition = "Partition 1 of the event log does not answer";
  const refused = logs.ends();
  await expect(refused).rejects.toMatchObject({ refusal: "unavailable" });
  await expect(refused).rejects.toThrow(partition);
  logs.watch();
  await until(() => logs.trouble() === `${partition}: No leader`, "the partition to be named");
  ends.failures.set(2, new Error("No broker")).set(3, new Error("No leader"));
  const all = `Partitions 1, 3 of the event log do not answer: No leader; Partition 2 of the event log does not answer: No broker`;
  await until(() => logs.trouble() === all, "the cause of each partition to be named");
  ends.failures.clear();
  ends.offsets.set(1, 0n);
  await until(() => logs.trouble() === undefined, "all partitions to answer again");
  expect(await logs.ends()).toEqual({ k0: sequenceOf(2n), k1: 0 });
  await logs.close();
});

test("a log is followed without the others, and tells of news until the listener leaves", async () => {
  const { logs, askedOf } = await openLogs(1n, 2);
  const news: unknown[] = [];
  const leave = logs.onDurable((range) => news.push(range));
  const stop = logs.follow("k1");
  await until(() => news.length > 0 && askedOf.size > 0, "the partition to be fetched");
  expect([...askedOf]).toEqual([1]);
  expect(news).toEqual([undefined]);
  stop();
  leave();
  const stopOther = logs.follow("k0");
  await until(() => askedOf.size === 2, "the other partition to be fetched");
  expect(news).toHaveLength(1);
  stopOther();
  expect(() => logs.follow("k2")).toThrow("Expected the name of a partition's log, got k2");
  expect(logs.settings()).toEqual({
    kind: "partitions",
    settings: { brokers: { brokers: ["b:9092"] }, topic: "p.events", partitions: 2 },
  });
  await logs.close();
});

test("an offset base moves a log once, and a loss with it is a warning and a line of the log", async () => {
  const { logs, deleted, lines } = await openLogs(4n);
  const reader = logs.readers.get("k0")!;
  logs.setOffsetBase("k0", { topic: "id", base: 0 }, 4);
  expect([reader.first(), reader.end()]).toEqual([0, sequenceOf(4n)]);
  logs.setOffsetBase("k0", { topic: "id", base: 20 }, 4, { how: "has lost its end", blocks: 3 });
  expect([reader.first(), reader.end()]).toEqual([sequenceOf(20n), sequenceOf(24n)]);
  logs.setOffsetBase("k0", { topic: "id", base: 20 }, 6);
  expect([reader.first(), reader.end()]).toEqual([sequenceOf(20n), sequenceOf(26n)]);
  const loss = "Partition 0 of p.events: 3 blocks are missing, of 1 to 8192 events each";
  expect(logs.warnings()).toEqual([loss]);
  expect(lines.map(({ level, msg, log }) => [level, msg, log])).toMatchObject([
    [50, "partition of the event log has lost its end", "k0"],
    [50, "records are missing from the event log", undefined],
  ]);
  await reader.trim(sequenceOf(22n));
  const partitions = [{ partition: 0, offset: 2n }];
  expect(deleted).toEqual([{ topics: [{ name: "p.events", partitions }] }]);
  await logs.close();
});

test("blocks that are missing are lost only while this node delivers the partition", async () => {
  const { logs } = await openLogs(4n);
  const reader = logs.readers.get("k0")!;
  const trimmed = { values: [], first: 3n, end: 4n, isOutOfRange: true };
  spies.push(
    spyOn(Fetcher.prototype, "fetch").mockImplementation(async () => {
      await new Promise(setImmediate);
      return trimmed;
    }),
  );
  await reader.read(0, 1).catch(() => {});
  expect(logs.warnings()).toEqual([]);
  const release = logs.acquire("k0");
  await reader.read(sequenceOf(1n), 1).catch(() => {});
  const loss = "Partition 0 of p.events: 2 blocks are missing, of 1 to 8192 events each";
  expect(logs.warnings()).toEqual([loss]);
  release();
  await reader.read(0, 1).catch(() => {});
  expect(logs.warnings()).toEqual([loss]);
  await logs.close();
});

test("logs that end before their former end, or are of another topic, are named to listeners", async () => {
  const { logs, ends } = await openLogs(9n, 2);
  const named: string[][] = [];
  logs.onOffsetsInvalid((invalid) => named.push(invalid));
  await logs.learnEnds();
  expect(named).toEqual([]);
  ends.offsets.set(1, 8n);
  expect((await logs.learnEnds()).ends).toEqual({ k0: sequenceOf(9n), k1: sequenceOf(8n) });
  expect(named).toEqual([["k1"]]);
  expect(logs.readers.get("k1")!.end()).toBe(sequenceOf(8n));
  logs.setOffsetBase("k0", { topic: "former", base: 0 });
  await expect(logs.learnEnds()).rejects.toThrow("was deleted and created again");
  expect(named).toEqual([["k1"], ["k0"]]);
  await logs.close();
});

test("a followed partition that cannot be read is trouble of the node, and of its log", async () => {
  const { logs } = await openLogs(1n, 2);
  spies.push(
    spyOn(Fetcher.prototype, "fetch").mockRejectedValue(new Error("No leader")),
    spyOn(Bun, "sleep").mockImplementation(() => new Promise(setImmediate)),
  );
  logs.follow("k1");
  const trouble = "The event log cannot be read in partitions 1: No leader";
  await until(() => logs.trouble() === trouble, "the partition to be unreadable");
  expect([logs.isFailing("k0"), logs.isFailing("k1")]).toEqual([false, true]);
  await logs.close();
});
