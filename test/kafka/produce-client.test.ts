import { expect, test } from "bun:test";
import type { Admin } from "@platformatic/kafka";
import { brokersMissing } from "../cluster/brokers.ts";
import { openTopic, withBrokers } from "../cluster/support.ts";
import { describeWith } from "../counterpart.ts";

/** Several times what a broker needs to forget one that sends nothing. */
const FORGOTTEN_MS = 1_500;
/** Kafka's numbers for a resource that is a broker, for setting a value and for removing it. */
const BROKER = 4;
const SET = 0;
const DELETE = 1;

type IncrementalAlterConfigs = Parameters<Admin["incrementalAlterConfigs"]>[0];

/** Lets broker 1 forget a producer that sends nothing for `ms`; undefined stands for the default. */
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
});
