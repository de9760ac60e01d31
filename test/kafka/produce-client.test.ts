import { expect, test } from "bun:test";
import { brokersMissing } from "../cluster/brokers.ts";
import { openTopic, withBrokers } from "../cluster/support.ts";
import { describeWith } from "../counterpart.ts";

/** Several times what a broker needs to forget one that sends nothing. */
const FORGOTTEN_MS = 1_500;

describeWith(brokersMissing)("what is sent to a partition", () => {
  const { clients } = withBrokers(1, [
    "producer.id.expiration.ms=500",
    "producer.id.expiration.check.interval.ms=100",
  ]);

  test("is there once and in order when the broker has forgotten the producer", async () => {
    const logs = await openTopic(clients(), { name: "forgotten", partitions: 1, replicas: 1 });
    const send = (text: string) => logs.producer.send(0, () => Buffer.from(text));
    for (let n = 0; n < 6; n++) {
      expect(await send(`${n}`)).toBe(BigInt(n));
      // Every other time it is still known.
      if (n % 2 === 1) await Bun.sleep(FORGOTTEN_MS);
    }
    const { values } = await logs.fetcher.fetch(0, 0n);
    expect(values.map(({ value }) => value.toString())).toEqual([..."012345"]);
  }, 300_000);
});
