import { afterAll, beforeAll, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { Fetcher } from "../../src/cluster/topics/fetcher.ts";
import { type BrokerSettings, connectClients } from "../../src/kafka/client.ts";
import { IdempotentProducer } from "../../src/kafka/idempotent-producer.ts";
import { brokersMissing } from "../cluster/brokers.ts";
import { account, type GuardedBroker, sharedGuardedBroker } from "../cluster/guarded-broker.ts";
import { ca } from "../cluster/tls.ts";
import { describeWith } from "../counterpart.ts";

let broker: GuardedBroker;
beforeAll(async () => {
  if (brokersMissing === undefined) broker = await sharedGuardedBroker();
}, 300_000);
afterAll(async () => await broker?.stop(), 300_000);

type Way = "tls" | "sasl" | "saslTls";
const sasl = (mechanism: string, password = account.password) =>
  ({ sasl: { mechanism, user: account.user, password } }) as Pick<BrokerSettings, "sasl">;

/** Makes a topic, writes a value, and reads the value again. */
async function roundTrip(settings: BrokerSettings, topic: string): Promise<string[]> {
  const clients = await connectClients(settings);
  try {
    await clients.admin().createTopics({ topics: [topic], partitions: 1, replicas: 1 });
    const sender = new IdempotentProducer({ producer: clients.producer(), topic });
    await sender.send(0, () => Buffer.from("there"));
    const fetcher = new Fetcher({ consumer: clients.fetchConsumer(), topic, waitMs: 50 });
    const { values } = await fetcher.fetch(0, 0n);
    return values.map(({ value }) => value.toString());
  } finally {
    await clients.close();
  }
}

describeWith(brokersMissing)("clients of a cluster's brokers", () => {
  test.each([
    ["TLS", "tls", { tls: { ca } }],
    ["SCRAM-SHA-256", "sasl", sasl("SCRAM-SHA-256")],
    ["SCRAM-SHA-512", "sasl", sasl("SCRAM-SHA-512")],
    ["PLAIN", "sasl", sasl("PLAIN")],
    ["SCRAM inside TLS", "saslTls", { tls: { ca }, ...sasl("SCRAM-SHA-512") }],
    ["PLAIN inside TLS", "saslTls", { tls: { ca }, ...sasl("PLAIN") }],
  ] as [string, Way, Partial<BrokerSettings>][])(
    "write and read by way of %s",
    async (name, way, settings) => {
      const topic = `topic-${name.replaceAll(" ", "-")}`;
      expect(await roundTrip({ brokers: [broker[way]], ...settings }, topic)).toEqual(["there"]);
    },
    300_000,
  );

  test.each(["gzip", "snappy", "lz4", "zstd"])(
    "read what brokers have compressed by %s",
    async (compression) => {
      const topic = `compressed-${compression}`;
      const clients = await connectClients({ brokers: broker.addresses });
      try {
        await clients.admin().createTopics({
          ...{ topics: [topic], partitions: 1, replicas: 1 },
          configs: [{ name: "compression.type", value: compression }],
        });
        const sender = new IdempotentProducer({ producer: clients.producer(), topic });
        // Above the 64 KB of a block of LZ4, so that copies reach into the block before.
        const random = randomBytes(90_000);
        const sent = [
          Buffer.from("a"),
          Buffer.alloc(200_000, "ab"),
          Buffer.concat([random, random]),
        ];
        await Promise.all(sent.map((value) => sender.send(0, () => value)));
        const fetcher = new Fetcher({ consumer: clients.fetchConsumer(), topic, waitMs: 50 });
        const { values } = await fetcher.fetch(0, 0n);
        expect(values.map(({ value }) => value.equals(sent.shift()!))).toEqual([true, true, true]);
      } finally {
        await clients.close();
      }
    },
    300_000,
  );

  test.each([
    ["another password", "saslTls", { tls: { ca }, ...sasl("PLAIN", "x") }, "SASL"],
    ["no authority for the certificate", "tls", { tls: {} }, "certificate"],
    ["no TLS", "tls", {}, "Broker requires TLS"],
  ] as [string, Way, Partial<BrokerSettings>, string][])(
    "get nowhere with %s",
    async (_, way, settings, reason) => {
      const asked = roundTrip({ brokers: [broker[way]], ...settings }, "never");
      const error = await asked.then(() => "no error").catch((thrown) => Bun.inspect(thrown));
      expect(error).toContain(reason);
    },
    300_000,
  );
});
