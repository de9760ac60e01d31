import { afterEach, expect, spyOn, test } from "bun:test";
import type { Admin } from "@platformatic/kafka";
import { PartitionLogs } from "../../src/cluster/events/partition-logs.ts";
import { sequenceOf } from "../../src/cluster/events/sequence.ts";
import type { FetchResult } from "../../src/cluster/topics/fetch-answer.ts";
import { Fetcher } from "../../src/cluster/topics/fetcher.ts";
import { sourceOfRecord } from "../../src/event/record.ts";
import type { KafkaClients } from "../../src/kafka/client.ts";
import { HEADER_BYTES, sealBlock } from "../../src/log/block.ts";
import { quiet } from "../ingest/ingest-support.ts";
import { until } from "../until.ts";

const spies: { mockRestore(): void }[] = [];
afterEach(() => {
  for (const spy of spies.splice(0)) spy.mockRestore();
});

/**
 * The logs of a topic of one partition with `end` empty blocks, and the offsets fetched from it.
 */
async function openLogs(end = 0n) {
  const fetched: bigint[] = [];
  const ends = {
    ...{ topicId: "id", offsets: new Map([[0, end]]), failures: new Map<number, unknown>() },
  };
  spies.push(
    spyOn(Fetcher.prototype, "brokerOffsets").mockImplementation(async (which) =>
      which === "end" ? ends : { ...ends, offsets: new Map([[0, 0n]]) },
    ),
    spyOn(Fetcher.prototype, "fetch").mockImplementation(
      async (_, offset): Promise<FetchResult> => {
        fetched.push(offset);
        await new Promise(setImmediate);
        const values = offset < end ? [{ offset, value: emptyBlock() }] : [];
        return { values, first: 0n, end, isOutOfRange: offset > end };
      },
    ),
  );
  const consumer = { topics: { track() {} } };
  const logs = new PartitionLogs(
    {
      clients: { fetchConsumer: () => consumer } as unknown as KafkaClients,
      brokers: { addresses: [] } as never,
      topic: { name: "p.events", partitions: 1, replicas: 1 },
      sourceOf: sourceOfRecord,
      logger: quiet,
    },
    {} as Admin,
  );
  await logs.learnEnds();
  return { logs, fetched, ends };
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
