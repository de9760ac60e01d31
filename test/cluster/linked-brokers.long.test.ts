import { afterAll, beforeAll, expect, test } from "bun:test";
import { ensureTopic } from "../../src/cluster/topics/ensure-topic.ts";
import { connectClients } from "../../src/kafka/client.ts";
import { describeWith } from "../counterpart.ts";
import { waitFor } from "../e2e/server.ts";
import { brokersMissing } from "./brokers.ts";
import { type LinkedBrokers, startLinkedBrokers } from "./linked-brokers.ts";

describeWith(brokersMissing)("brokers with links", () => {
  let brokers: LinkedBrokers;

  beforeAll(async () => {
    brokers = await startLinkedBrokers(1);
  }, 300_000);
  afterAll(() => brokers?.stop(), 300_000);

  test("a broker that is cut from the others calls itself leader, and the others elect one", async () => {
    const clients = await connectClients({ brokers: brokers.addressesOf(0) });
    const name = "cut";
    await ensureTopic(clients.admin(), { name, partitions: 1, replicas: 3 });
    await clients.close();
    const leader = await waitFor(async () => {
      const [one, other] = await Promise.all([0, 1].map((it) => brokers.leaderOf(name, 0, it)));
      return one === other ? { index: one! } : undefined;
    }, "brokers to agree who leads");
    const other = (leader.index + 1) % 3;
    brokers.isolate(leader.index);
    await waitFor(
      async () => (await brokers.leaderOf(name, 0, other)) !== leader.index,
      "the other brokers to elect a leader",
    );
    expect(await brokers.leaderOf(name, 0, leader.index)).toBe(leader.index);
    brokers.heal();
    await waitFor(
      async () => (await brokers.leaderOf(name, 0, leader.index)) !== leader.index,
      "the old leader to learn of the new one",
    );
  }, 300_000);
});
