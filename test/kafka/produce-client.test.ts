import { expect, spyOn, test } from "bun:test";
import type { Admin } from "@platformatic/kafka";
import { brokersMissing } from "../cluster/brokers.ts";
import { openTopic, withBrokers } from "../cluster/support.ts";
import { describeWith } from "../counterpart.ts";

/** Several times what a broker needs to forget one that sends nothing. */
const FORGOTTEN_MS = 1_500;
/** Several times the pause between two looks of a broker for producers to forget. */
const CHECKED_MS = 500;
/** Kafka's numbers for a resource that is a broker, for setting a value and for removing it. */
const BROKER = 4;
const SET = 0;
const DELETE = 1;

type IncrementalAlterConfigs = Parameters<Admin["incrementalAlterConfigs"]>[0];

/**
 * Lets broker 1 forget a producer that sends nothing for `ms`; undefined stands for the default.
 */
async function expireProducers(admin: Admin, ms: number | undefined): Promise<void> {
  const configOperation = ms === undefined ? DELETE : SET;
  const config = { name: "producer.id.expiration.ms", configOperation, value: String(ms) };
  const resources = [{ resourceType: BROKER, resourceName: "1", configs: [config] }];
  await admin.incrementalAlterConfigs({ resources } as IncrementalAlterConfigs);
}

describeWith(brokersMissing)("what is sent to a partition", () => {
  const { clients } = withBrokers(1);

  test("is there once and in order when the broker has forgotten the producer", async () => {
    const admin = clients().admin();
    await expireProducers(admin, 500);
    try {
      const logs = await openTopic(clients(), { name: "forgotten", partitions: 1, replicas: 1 });
      const send = (text: string) => logs.producer.send(0, () => Buffer.from(text));
      for (let n = 0; n < 6; n++) {
        expect(await send(`${n}`)).toBe(BigInt(n));
        // Every other time it is still known.
        if (n % 2 === 1) await Bun.sleep(FORGOTTEN_MS);
      }
      const { values } = await logs.fetcher.fetch(0, 0n);
      expect(values.map(({ value }) => value.toString())).toEqual([..."012345"]);
    } finally {
      await expireProducers(admin, undefined);
    }
  }, 300_000);

  test("is there once when it is repeated after the broker looked for producers to forget", async () => {
    const topic = "repeated";
    const { fetcher } = await openTopic(clients(), { name: topic, partitions: 1, replicas: 1 });
    const client = clients().producer();
    await client.refreshLeaders(topic);
    const [leader = -1] = client.leaders(topic) ?? [];
    const producerId = await client.initProducerId();
    const send = () => {
      const messages = [{ value: Buffer.from("a") }];
      return client.produce(leader, producerId, [{ topic, partition: 0, sequence: 0, messages }]);
    };
    expect(await send()).toMatchObject([{ errorCode: 0, baseOffset: 0n }]);
    await Bun.sleep(CHECKED_MS);
    expect(await send()).toMatchObject([{ errorCode: 0, baseOffset: 0n }]);
    expect((await fetcher.fetch(0, 0n)).values).toHaveLength(1);
  }, 300_000);

  test("shows how far the clock is off when it is sent first, and not when it is repeated", async () => {
    const topic = "timed";
    await openTopic(clients(), {
      ...{ name: topic, partitions: 1, replicas: 1, hasBrokerTimes: true },
    });
    const client = clients().producer();
    await client.refreshLeaders(topic);
    const [leader = -1] = client.leaders(topic) ?? [];
    const producerId = await client.initProducerId();
    const send = (isRepeated: boolean) => {
      const messages = [{ value: Buffer.from("a") }];
      const batch = { topic, partition: 0, sequence: 0, messages, isRepeated };
      return client.produce(leader, producerId, [batch]);
    };
    const isInStep = () => Math.abs(clients().clockErrorMs()!) < 60_000;
    expect(await send(false)).toMatchObject([{ errorCode: 0, baseOffset: 0n }]);
    expect(isInStep()).toBe(true);
    // The client sends the same batch again, an hour later by its clock.
    const now = Date.now;
    const clock = spyOn(Date, "now").mockImplementation(() => now() + 3_600_000);
    try {
      expect(await send(true)).toMatchObject([{ errorCode: 0, baseOffset: 0n }]);
      expect(isInStep()).toBe(true);
    } finally {
      clock.mockRestore();
    }
  }, 300_000);

  test("is accepted from a process whose clock is hours ahead", async () => {
    const now = Date.now;
    const clock = spyOn(Date, "now").mockImplementation(() => now() + 10_800_000);
    try {
      const logs = await openTopic(clients(), { name: "ahead", partitions: 1, replicas: 1 });
      const send = (text: string) => logs.producer.send(0, () => Buffer.from(text));
      expect([await send("a"), await send("b")]).toEqual([0n, 1n]);
    } finally {
      clock.mockRestore();
    }
  }, 300_000);
});
