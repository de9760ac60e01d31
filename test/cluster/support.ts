import { afterAll, beforeAll } from "bun:test";
import { PartitionReader } from "../../src/cluster/events/partition-reader.ts";
import { PartitionWriter } from "../../src/cluster/events/partition-writer.ts";
import { ensureTopic, type TopicSettings } from "../../src/cluster/topics/ensure-topic.ts";
import { Fetcher } from "../../src/cluster/topics/fetcher.ts";
import { type BrokerSettings, connectClients, type KafkaClients } from "../../src/kafka/client.ts";
import { IdempotentProducer } from "../../src/kafka/idempotent-producer.ts";
import { LossReport } from "../../src/log/loss-report.ts";
import { quiet, textCodec } from "../log/support.ts";
import { type Brokers, brokersMissing } from "./brokers.ts";
import { sharedBrokers } from "./shared-brokers.ts";

/** Shared brokers for the tests of a file, and clients of them, which end with the tests. */
export function withBrokers(count: 1 | 3) {
  let brokers: Brokers;
  let clients: KafkaClients;
  beforeAll(async () => {
    if (brokersMissing !== undefined) return;
    brokers = await sharedBrokers(count);
    clients = await connectClients(settingsOf(brokers));
  }, 300_000);
  afterAll(async () => {
    await clients?.close();
    await brokers?.stop();
  }, 300_000);
  return { brokers: () => brokers, clients: () => clients };
}

export const settingsOf = (brokers: Brokers): BrokerSettings => ({ brokers: brokers.addresses });

/** A topic whose partitions are opened as logs of texts. */
export async function openTopic(clients: KafkaClients, topic: TopicSettings) {
  const admin = clients.admin();
  const { name } = topic;
  await ensureTopic(admin, topic);
  const producer = new IdempotentProducer({ producer: clients.producer(), topic: name });
  const fetcher = new Fetcher({ consumer: clients.fetchConsumer(), topic: name, waitMs: 50 });
  const losses = new LossReport({ logger: quiet });
  return {
    producer,
    fetcher,
    losses,
    async writer(partition: number) {
      const end = (await fetcher.offsets("end"))[partition]!;
      return new PartitionWriter({ partition, producer, codec: textCodec, end, logger: quiet });
    },
    async reader(partition: number) {
      const first = (await fetcher.offsets("first"))[partition]!;
      const log = `${name}-${partition}`;
      const trim = (offset: bigint) => this.trim(partition, offset);
      const parts = { name: log, partition, fetcher, first, losses, trim };
      return new PartitionReader({ ...parts, cacheBytesMax: 1 << 20 });
    },
    async trim(partition: number, offset: bigint) {
      await admin.deleteRecords({ topics: [{ name, partitions: [{ partition, offset }] }] });
    },
  };
}
