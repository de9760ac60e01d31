import { expect, setDefaultTimeout } from "bun:test";
import type { OpenDestination, OutgoingEvent } from "../../src/destinations/destination.ts";
import { kafkaKind } from "../../src/destinations/kafka/kafka.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { brokersMissing } from "../cluster/brokers.ts";
import { withBrokers } from "../cluster/support.ts";
import { testWith } from "../counterpart.ts";
import { readTopic } from "./kafka-topic.ts";
import { outgoing } from "./outgoing.ts";

/** `CRASH_ROUNDS=20 bun test test/destinations/kafka-crash.long.test.ts` kills more often. */
const rounds = Number(process.env.CRASH_ROUNDS ?? 1);
const USERS = 20;
const BATCH = 50;
const ROUND_MS_MAX = 300_000;

setDefaultTimeout(300_000 + rounds * 2 * ROUND_MS_MAX);

const { brokers, clients } = withBrokers(3);
const egress = createEgress({ allow: ["127.0.0.0/8"] });
const { signal } = new AbortController();

/** Delivers as a lane does: the same events until they are delivered, with attempts cut short. */
async function deliver(
  open: OpenDestination,
  events: OutgoingEvent[],
  until: number,
): Promise<void> {
  let reason = "";
  while (performance.now() < until) {
    const cut = Math.random() < 0.2 ? AbortSignal.timeout(20) : signal;
    const verdict = await open.deliver(events, cut);
    if (verdict.kind === "delivered") {
      expect(verdict.refused).toBeUndefined();
      return;
    }
    reason = verdict.reason;
  }
  throw new Error(`Not delivered: ${reason}`);
}

/** Reads a topic, again while a restarted broker takes over partitions. */
async function wholeTopic(topic: string) {
  for (;;) {
    try {
      return await readTopic(clients(), topic);
    } catch {
      await Bun.sleep(100);
    }
  }
}

testWith(brokersMissing)(
  "SIGKILL of a broker in the middle of batches loses nothing and doubles nothing",
  async () => {
    const topic = "crash";
    await clients()
      .admin()
      .createTopics({ topics: [topic], partitions: 6, replicas: 3 });
    const config = { brokers: brokers().addresses.join(","), tls: "off" as const, topic };
    const open = kafkaKind(egress).open({ ...config, timeoutMs: 8_000 }, "workspace");
    let sent = 0;
    for (let round = 0; round < rounds; round++) {
      const victim = round % 3;
      const killed = Bun.sleep(200 + Math.random() * 600).then(() => brokers().kill(victim));
      let isDown = false;
      void killed.then(() => (isDown = true));
      const until = performance.now() + ROUND_MS_MAX;
      // Some batches after the death too, so that the leaders that are left have taken some.
      for (let after = 0; after < 20; after += isDown ? 1 : 0) {
        const events = Array.from({ length: BATCH }, () => {
          sent += 1;
          return outgoing({ n: sent, userId: `u${sent % USERS}` });
        });
        await deliver(open, events, until);
      }
      await killed;
      await brokers().restart(victim);
    }
    await open.close();
    const values = (await wholeTopic(topic)).map(
      ({ value }) => value as { n: number; userId: string },
    );
    const numbers = values.map(({ n }) => n).sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: sent }, (_, index) => index + 1));
    for (const [userId, own] of Map.groupBy(values, (it) => it.userId)) {
      const order = own.map(({ n }) => n);
      expect({ userId, order }).toEqual({ userId, order: order.toSorted((a, b) => a - b) });
    }
  },
);
