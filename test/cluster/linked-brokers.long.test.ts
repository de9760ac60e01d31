import { afterAll, beforeAll, expect, test } from "bun:test";
import { ensureTopic } from "../../src/cluster/topics/ensure-topic.ts";
import { judgeTopics } from "../../src/cluster/topics/topic-health.ts";
import { connectClients } from "../../src/kafka/client.ts";
import { describeWith } from "../counterpart.ts";
import { waitFor } from "../e2e/server.ts";
import { brokersMissing } from "./brokers.ts";
import { type LinkedBrokers, startLinkedBrokers } from "./linked-brokers.ts";
import { openTopic } from "./support.ts";

describeWith(brokersMissing)("brokers with links", () => {
  let brokers: LinkedBrokers;

  beforeAll(async () => {
    brokers = await startLinkedBrokers(1);
  }, 300_000);
  afterAll(() => brokers?.stop(), 300_000);

  test("clients write and read all partitions while a broker is cut off, in any order of brokers", async () => {
    const addresses = brokers.addressesOf(0);
    const orders = [addresses, addresses.toReversed()];
    const all = await Promise.all(orders.map((it) => connectClients({ brokers: it })));
    const partitions = 3;
    try {
      const topics = await Promise.all(
        all.map((clients, it) =>
          openTopic(clients, { name: `all-${it}`, partitions, replicas: 3 }),
        ),
      );
      const writeAndRead = async (text: string) => {
        for (const { producer, fetcher } of topics) {
          for (let partition = 0; partition < partitions; partition++) {
            // The leader is elected, and the cut-off replicas leave the in-sync set, in some
            // seconds.
            const offset = await waitFor(
              () => producer.send(partition, () => Buffer.from(text)).catch(() => undefined),
              "a value to be written",
            );
            const { values } = await waitFor(async () => {
              const found = await fetcher.fetch(partition, offset).catch(() => undefined);
              return found?.values.length ? found : undefined;
            }, "the value to be read");
            expect(values[0]!.value.toString()).toBe(text);
          }
        }
      };
      const health = all.map((clients, it) =>
        judgeTopics({
          clients,
          topics: () => [{ name: `all-${it}`, replicas: 3, isVital: true, remedy: "restore it" }],
        }),
      );
      const rows = () => health.map((of) => of.warnings());
      await waitFor(() => rows().every((of) => of.length === 0), "all brokers to be in sync");
      await writeAndRead("before");
      brokers.isolate(0);
      await writeAndRead("during");
      // The others hear of new leaders one after another, and clients ask them from time to time.
      await waitFor(
        () =>
          all.every((clients) => {
            const [outdated, ...more] = clients.outdatedBrokers();
            const isCutOff = outdated?.address === addresses[0] && outdated?.isListed === false;
            return isCutOff && more.length === 0;
          }),
        "only the broker that is cut off to be outdated",
      );
      const isOneRow = (of: string[]) =>
        of.length === 1 &&
        /^Broker \d+ \(.+\) .*copies are missing of all-\d$/.test(of[0]!) &&
        of[0]!.includes(`(${addresses[0]}) `);
      await waitFor(() => rows().every(isOneRow), "one row for the broker, with what it lacks");
      brokers.heal();
      await waitFor(
        () => all.every((clients) => clients.outdatedBrokers().length === 0),
        "the brokers to agree",
      );
      await waitFor(() => rows().every((of) => of.length === 0), "the rows to go");
      await writeAndRead("after");
    } finally {
      brokers.heal();
      await Promise.all(all.map((clients) => clients.close()));
    }
  }, 300_000);

  test("controllers reach each other over links alone, whatever addresses they have learned", async () => {
    const active = () => brokers.activeController();
    await waitFor(async () => (await active()) !== undefined, "an active controller");
    for (const from of [0, 1, 2]) {
      for (const to of [0, 1, 2]) if (from !== to) brokers.brokerLink(from, to).refuse();
    }
    await waitFor(async () => (await active()) === undefined, "no controller to have a majority");
    brokers.heal();
    await waitFor(async () => (await active()) !== undefined, "an active controller again");
  }, 300_000);

  test("a broker that is cut from the others calls itself leader, and the others elect one", async () => {
    const clients = await connectClients({ brokers: brokers.addressesOf(0) });
    const name = "cut";
    await ensureTopic(clients.admin(), { name, partitions: 1, replicas: 3 });
    await clients.close();
    const leader = await brokers.agreedLeaderOf(name, 0);
    const other = (leader + 1) % 3;
    brokers.isolate(leader);
    await brokers.replacedLeaderOf(name, 0, other, leader);
    const own = await waitFor(() => brokers.leaderOf(name, 0, leader));
    expect(own).toBe(leader);
    brokers.heal();
    await brokers.replacedLeaderOf(name, 0, leader, leader);
  }, 300_000);
});
