import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openOrderedTopic } from "../../src/cluster/ordered-log/ordered-topic.ts";
import { Fetcher } from "../../src/cluster/topics/fetcher.ts";
import { connectClients, type KafkaClients } from "../../src/kafka/client.ts";
import type { OrderedStore } from "../../src/store/ordered/ordered-store.ts";
import { describeWith } from "../counterpart.ts";
import { quiet, until } from "../log/support.ts";
import { openNode, runLoad, unexplained } from "../store/nodes.ts";
import { brokersMissing } from "./brokers.ts";
import { settingsOf, withBrokers } from "./support.ts";

const directory = mkdtempSync(join(tmpdir(), "pixelmill-ordered-"));
afterAll(() => rmSync(directory, { recursive: true }));

describeWith(brokersMissing)("stores on a topic of Kafka", () => {
  const { brokers } = withBrokers(1);

  /** A node as a process of its own would be: with connections of its own. */
  async function openNodeOf(topic: string, name: string) {
    const clients = await connectClients(settingsOf(brokers()));
    const options = { clients, name: topic, partitions: 1, replicas: 1, logger: quiet };
    const [log] = await openOrderedTopic(options);
    const store = openNode(join(directory, `${topic}-${name}.mdb`), log!);
    return { store, clients };
  }

  async function withNodes(
    topic: string,
    use: (nodes: Awaited<ReturnType<typeof openNodeOf>>[]) => Promise<void>,
  ) {
    const nodes = await Promise.all(["a", "b", "c"].map((name) => openNodeOf(topic, name)));
    await use(nodes);
    await Promise.all(nodes.map(({ store }) => store.close()));
    await Promise.all(nodes.map(({ clients }) => clients.close()));
  }

  test("answer calls of many clients in an order that one store would give", async () => {
    await withNodes("catalog", async (nodes) => {
      const load = { clients: 48, pairs: 10, callsPerPair: 50, random: Math.random };
      const histories = await runLoad(() => nodes.map(({ store }) => store), load, "calls");
      expect(unexplained(histories)).toEqual([]);
      const answered = histories.flat().filter(({ output }) => output !== undefined);
      expect(answered).toHaveLength(500);
    });
  }, 300_000);

  test("apply changes in one order while the broker dies and restarts", async () => {
    await withNodes("dying", async (nodes) => {
      const stores = nodes.map(({ store }) => store);
      const small = { clients: 24, pairs: 6, callsPerPair: 50, random: Math.random };
      const before = await runLoad(() => stores, small, "before");
      await brokers().kill(0);
      const during = runLoad(
        () => stores,
        { ...small, clients: 6, pairs: 1, callsPerPair: 12 },
        "during",
      );
      await until(() => stores.every((it) => it.trouble() !== undefined));
      await brokers().restart(0);
      const after = await runLoad(() => stores, small, "after");
      expect(unexplained([...before, ...(await during), ...after])).toEqual([]);
      await until(() => stores.every((it) => it.trouble() === undefined));
      // The producer may reach the broker later than the reader, and refuses changes until then.
      const put = () => {
        stores[0]!.table<number, string>("numbers").put("last", 1);
        return true;
      };
      await until(() => stores[0]!.change(put).catch(() => false));
      // A read appends an entry with the producer of its own node, so it waits for that one too.
      const reads = () =>
        stores[1]!.catchUp().then(
          () => true,
          () => false,
        );
      await until(reads);
      expect(stores[1]!.table<number, string>("numbers").get("last")).toBe(1);
    });
  }, 300_000);

  test("share a topic of several partitions, each with an order of its own", async () => {
    const clients = await connectClients(settingsOf(brokers()));
    const options = { clients, name: "shared", partitions: 3, replicas: 1, logger: quiet };
    const logs = await openOrderedTopic(options);
    const paths = logs.map((_, i) => join(directory, `shared-${i}.mdb`));
    const stores = logs.map((log, i) => openNode(paths[i]!, log));
    const numbersOf = (i: number) => stores[i]!.table<number, string>("numbers");
    for (let n = 1; n <= 20; n++) {
      await Promise.all(stores.map((it, i) => it.change(() => numbersOf(i).put("n", n + i))));
    }
    expect(stores.map((_, i) => numbersOf(i).get("n"))).toEqual([20, 21, 22]);
    await stores[1]!.close();
    await stores[0]!.change(() => numbersOf(0).put("n", 30));
    stores[1] = openNode(paths[1]!, logs[1]!);
    await stores[1].change(() => numbersOf(1).put("n", 31));
    expect(stores.map((_, i) => numbersOf(i).get("n"))).toEqual([30, 31, 22]);
    await Promise.all(stores.map((it) => it.close()));
    await clients.close();
  }, 300_000);

  test("write nothing to a recreated topic and do not open with it again", async () => {
    const known = new Map<string, string>();
    const ids = {
      get: (topic: string) => known.get(topic),
      put: (topic: string, id: string) => void known.set(topic, id),
    };
    const clients = await connectClients(settingsOf(brokers()));
    const name = "recreated";
    const options = { clients, name, partitions: 1, replicas: 1, ids, logger: quiet };
    const [log] = await openOrderedTopic(options);
    const store = openNode(join(directory, "recreated.mdb"), log!);
    const numbers = store.table<number, string>("numbers");
    await store.change(() => numbers.put("n", 1));
    const admin = clients.admin();
    const refusal = () => openOrderedTopic(options).catch((error) => error.message);
    await admin.deleteTopics({ topics: [name] });
    while ((await admin.listTopics()).includes(name)) await Bun.sleep(20);
    const gone = `The topic ${name} that this node has used is gone`;
    expect(await refusal()).toStartWith(`${gone}. Restore it, or remove`);
    await openOrderedTopic({ ...options, ids: { get: () => undefined, put() {} } });
    await until(() => store.trouble() === `The topic ${name} was deleted and created again`);
    const changed = store.change(() => numbers.put("n", 2));
    expect(await changed.catch((error) => error.refusal)).toBe("unavailable");
    const asKnown = store.change(() => numbers.put("n", 3), { allowStale: true });
    expect(await asKnown.catch((error) => error.refusal)).toBe("unavailable");
    const asker = new Fetcher({ consumer: clients.fetchConsumer(), topic: name, waitMs: 0 });
    expect(await asker.offsets("end")).toEqual([0n]);
    expect(await refusal()).toStartWith(
      `${gone}: the one of this name was created later, or cluster.kafka names other brokers. Restore`,
    );
    await store.close();
    await clients.close();
  }, 300_000);

  test("are compacted, and a node that starts or was disconnected continues from the compacted log", async () => {
    const bounds = {
      ...{ min: { rows: 50, bytes: 1 << 20 }, factor: 1, portion: { rows: 20, bytes: 2_000 } },
      stalledMs: 1_000,
      keptMs: 300,
    };
    const all: KafkaClients[] = [];
    const open = async (name: string) => {
      const clients = await connectClients(settingsOf(brokers()));
      all.push(clients);
      const options = { clients, name: "rewritten", partitions: 2, replicas: 1, logger: quiet };
      const [, log] = await openOrderedTopic(options);
      return openNode(join(directory, `re-${name}`, "view.mdb"), log!, bounds);
    };
    const nodes = [await open("a"), await open("b")];
    const consumer = all[0]!.fetchConsumer();
    const asker = new Fetcher({ consumer, topic: "rewritten", waitMs: 0 });
    const first = async () => Number((await asker.offsets("first"))[1]);
    const away = await open("away");
    await away.change(() => away.table<number, string>("numbers").put("gone", 1));
    await away.close();
    await nodes[0]!.change(() => nodes[0]!.table<number, string>("numbers").remove("gone"));
    const before = await first();
    // Answered in one order while the log is rewritten.
    const load = { clients: 24, pairs: 12, callsPerPair: 40, random: Math.random };
    const histories = await runLoad(() => nodes, load, "calls");
    expect(unexplained(histories)).toEqual([]);
    expect(before).toBe(0);
    for (let i = 0; (await first()) <= 50; i++) {
      await nodes[0]!.change(() => nodes[0]!.table<number, string>("numbers").put("n", i));
    }
    const rows = async (store: OrderedStore) => {
      await store.recover();
      return [...store.table<number, string>("numbers").getRange({})];
    };
    nodes.push(await open("away"), await open("new"));
    for (const node of nodes) expect(await rows(node)).toEqual(await rows(nodes[0]!));
    await Promise.all(nodes.map((it) => it.close()));
    await Promise.all(all.map((it) => it.close()));
  }, 300_000);
});
