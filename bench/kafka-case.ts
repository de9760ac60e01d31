import { Producer } from "@platformatic/kafka";
import { kafkaKind } from "../src/destinations/kafka/kafka.ts";
import type { Egress } from "../src/egress/egress.ts";
import { connectClients } from "../src/kafka/client.ts";
import { brokersMissing, startBrokers } from "../test/cluster/brokers.ts";
import { readTopic } from "../test/destinations/kafka-topic.ts";
import { type Case, familyCpu, type Running } from "./destination-cases.ts";

const PARTITIONS = 4;

/**
 * Builds the same record for the plain client's producer, parsing the event for its key as well.
 */
function plainMessage(topic: string, bytes: Uint8Array) {
  const value = Buffer.from(bytes);
  const { userId, messageId, type, receivedAt } = JSON.parse(value.toString());
  const headers = new Map(
    Object.entries({ messageId, type, sourceId: "s", receivedAt }).map(([name, text]) => [
      Buffer.from(name),
      Buffer.from(String(text)),
    ]),
  );
  return { topic, key: Buffer.from(userId), value, headers, timestamp: BigInt(Date.now()) };
}

async function start(egress: Egress, compression: "none" | "gzip"): Promise<Running> {
  const brokers = await startBrokers(1);
  const clients = await connectClients({ brokers: brokers.addresses });
  const producer = new Producer({
    ...{ clientId: "plain", bootstrapBrokers: [...brokers.addresses], idempotent: true },
  });
  const of = { partitions: PARTITIONS, replicas: 1 };
  await clients.admin().createTopics({
    ...{ topics: ["events"], ...of },
    configs: [{ name: "message.timestamp.type", value: "LogAppendTime" }],
  });
  await clients.admin().createTopics({ topics: ["plain"], ...of });
  return {
    kind: kafkaKind(egress),
    config: { brokers: brokers.addresses[0]!, topic: "events", tls: "off", compression },
    async plain(events) {
      const messages = events.map((bytes) => plainMessage("plain", bytes));
      await producer.send({ messages, idempotent: true, compression });
      return 0;
    },
    serverCpu: () => brokers.pids().reduce((sum, pid) => sum + familyCpu(pid), 0),
    stamp: async () => {},
    async latencies() {
      const read = await readTopic(clients, "events");
      return read.flatMap(({ value, timestamp }) => {
        const { sent } = (value as { properties: { sent?: string } }).properties;
        return sent === undefined ? [] : [timestamp - Number(sent)];
      });
    },
    async end() {
      await producer.close();
      await clients.close();
      await brokers.stop();
    },
  };
}

const client = { plainly: "the library's send", missing: brokersMissing };

export const kafkaCases: Case[] = [
  { name: "kafka", ...client, start: (egress) => start(egress, "none") },
  { name: "kafka gzip", ...client, start: (egress) => start(egress, "gzip") },
];
