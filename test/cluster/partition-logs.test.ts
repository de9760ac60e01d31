import { afterEach, expect, spyOn, test } from "bun:test";
import type { Admin } from "@platformatic/kafka";
import { PartitionLogs } from "../../src/cluster/events/partition-logs.ts";
import type { FetchResult } from "../../src/cluster/topics/fetch-answer.ts";
import { Fetcher } from "../../src/cluster/topics/fetcher.ts";
import { sourceOfRecord } from "../../src/event/record.ts";
import type { KafkaClients } from "../../src/kafka/client.ts";
import { quiet } from "../ingest/ingest-support.ts";
import { until } from "../until.ts";

const spies: { mockRestore(): void }[] = [];
afterEach(() => {
  for (const spy of spies.splice(0)) spy.mockRestore();
});

/** The logs of a topic of one empty partition, and the number of fetches from it. */
async function openLogs() {
  let fetches = 0;
  spies.push(
    spyOn(Fetcher.prototype, "offsets").mockResolvedValue([0n]),
    spyOn(Fetcher.prototype, "brokerOffsets").mockResolvedValue({ topicId: "id", offsets: [0n] }),
    spyOn(Fetcher.prototype, "fetch").mockImplementation(async (): Promise<FetchResult> => {
      fetches++;
      await new Promise(setImmediate);
      return { values: [], first: 0n, end: 0n, isOutOfRange: false };
    }),
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
  return { logs, fetches: () => fetches };
}

test("a closed log asks the brokers for nothing, though a partition of it is followed", async () => {
  const { logs, fetches } = await openLogs();
  logs.follow("k0");
  await until(() => fetches() > 2, "the partition to be fetched");
  await logs.close();
  const before = fetches();
  for (let turn = 0; turn < 30; turn++) await new Promise(setImmediate);
  expect(fetches()).toBe(before);
});
