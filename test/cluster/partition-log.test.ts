import { expect, test } from "bun:test";
import type { Admin } from "@platformatic/kafka";
import { offsetOf, sequenceOf } from "../../src/cluster/events/sequence.ts";
import { ensureTopic, unsafeSetting } from "../../src/cluster/topics/ensure-topic.ts";
import { Fetcher } from "../../src/cluster/topics/fetcher.ts";
import { monitorTopicSettings } from "../../src/cluster/topics/topic-settings-monitor.ts";
import { LogUnavailable } from "../../src/log/event-log.ts";
import { describeWith, testWith } from "../counterpart.ts";
import { describeEventLog, type OpenLog } from "../log/contract.ts";
import { appendEach, quiet, readAll, texts, until } from "../log/support.ts";
import { longTierMissing } from "../tier.ts";
import { brokersMissing } from "./brokers.ts";
import { openTopic, withBrokers } from "./support.ts";

/** Sets one of a topic's settings, as an operator does. */
async function setOn(admin: Admin, topic: string, name: string, value: string): Promise<void> {
  const configs = [{ name, configOperation: SET, value }];
  const resources = [{ resourceType: TOPIC, resourceName: topic, configs }];
  await admin.incrementalAlterConfigs({ resources } as IncrementalAlterConfigs);
}

type IncrementalAlterConfigs = Parameters<Admin["incrementalAlterConfigs"]>[0];

/** Kafka's numbers for a resource that is a topic, and for setting a value. */
const TOPIC = 2;
const SET = 0;

describeWith(brokersMissing)("a partition of Kafka", () => {
  const { brokers, clients } = withBrokers(1);
  let opened: ReturnType<typeof openTopic> | undefined;
  const contract = () => {
    opened ??= openTopic(clients(), { name: "a", partitions: 16, replicas: 1 });
    return opened;
  };
  const open = () => openTopic(clients(), { name: "b", partitions: 2, replicas: 1 });

  describeEventLog("as an event log", async (log): Promise<OpenLog> => {
    const logs = await contract();
    const partition = Number(log.split("-")[1]);
    return { writer: await logs.writer(partition), reader: await logs.reader(partition) };
  });

  test("takes records of several writers, each writer's in its order", async () => {
    const nodes = await Promise.all([open(), open(), open()]);
    const writers = await Promise.all(nodes.map((it) => it.writer(0)));
    await Promise.all(writers.map((it, i) => appendEach(it, texts(50, `writer ${i}`))));
    const reader = await nodes[0]!.reader(0);
    reader.advance(Math.max(...writers.map((it) => it.durable())));
    const read = (await readAll(reader)).map(([, text]) => text);
    expect(read).toHaveLength(150);
    for (const i of writers.keys()) {
      expect(read.filter((it) => it.startsWith(`writer ${i}`))).toEqual(texts(50, `writer ${i}`));
    }
  });

  test("is read without waiting for idle partitions beside it", async () => {
    const topic = { name: "f", partitions: 6, replicas: 1 };
    const { producer } = await openTopic(clients(), topic);
    // A request that lacks the partition would take this long.
    const fetcher = new Fetcher({
      consumer: clients().fetchConsumer(),
      topic: "f",
      waitMs: 30_000,
    });
    let isOpen = true;
    const read = Array.from({ length: topic.partitions }, () => 0n);
    const loops = read.map(async (_, partition) => {
      while (isOpen) {
        // A new partition's leader may not know of that yet.
        const fetched = await fetcher.fetch(partition, read[partition]!).catch(() => undefined);
        read[partition] = read[partition]! + BigInt(fetched?.values.length ?? 0);
      }
    });
    for (let i = 0; i < 60; i++) {
      await producer.send(i % 2 === 0 ? 0 : 5, () => Buffer.from("x"));
      await until(() => read[0]! + read[5]! === BigInt(i + 1));
    }
    isOpen = false;
    for (const partition of read.keys()) await producer.send(partition, () => Buffer.from("last"));
    await Promise.all(loops);
  }, 300_000);

  test("answers who leads the partition while a fetch waits for records", async () => {
    const { producer } = await openTopic(clients(), { name: "g", partitions: 1, replicas: 1 });
    const consumer = clients().fetchConsumer();
    const fetcher = new Fetcher({ consumer, topic: "g", waitMs: 8_000 });
    await producer.send(0, () => Buffer.from("x"));
    // A new partition's leader may not know of that yet.
    while ((await fetcher.fetch(0, 0n).catch(() => undefined)) === undefined) await Bun.sleep(5);
    const fetched = fetcher.fetch(0, 1n).then(() => "fetched");
    // The fetch is on its way before the question is.
    await Bun.sleep(100);
    const told = consumer.metadata({ topics: ["g"], forceUpdate: true }).then(() => "told");
    expect(await Promise.race([fetched, told])).toBe("told");
    await producer.send(0, () => Buffer.from("x"));
    expect(await fetched).toBe("fetched");
  }, 300_000);

  test("is created once by nodes that start at the same time", async () => {
    for (const name of ["c", "d", "e"]) {
      const nodes = Array.from({ length: 8 }, () => clients().admin());
      const topic = { name, partitions: 2, replicas: 1 };
      const made = await Promise.all(nodes.map((admin) => ensureTopic(admin, topic)));
      expect(new Set(made)).toEqual(new Set([2]));
    }
  });

  test("reports records that were deleted before they were read, and bytes that are no block", async () => {
    const logs = await open();
    const [writer, reader] = [await logs.writer(1), await logs.reader(1)];
    await appendEach(writer, texts(10));
    reader.setOwned(true);
    const strange = await logs.producer.send(1, () => Buffer.from("not of ours"));
    await writer.append("last");
    await logs.trim(1, 4n);
    reader.advance(writer.durable());
    expect((await readAll(reader, 0)).map(([, text]) => text)).toEqual([
      ...texts(10).slice(4),
      "last",
    ]);
    expect(reader.first()).toBe(sequenceOf(4n));
    expect(strange).toBe(offsetOf(writer.durable()) - 2n);
    expect(logs.losses.warnings()).toEqual([
      "Event log b-1: 5 records are missing, 11 bytes are damaged",
    ]);
  });

  test("is rejected when its topic's settings are weaker than required", async () => {
    const admin = clients().admin();
    const weak = { name: "weak", partitions: 2, replicas: 1 };
    await ensureTopic(admin, weak);
    expect(await ensureTopic(admin, { ...weak, partitions: 1 })).toBe(2);
    const refused = (more: object) =>
      ensureTopic(admin, { ...weak, ...more }).catch((error) => `${error.name}: ${error.message}`);
    expect(await refused({ replicas: 3 })).toBe(
      "StartError: Expected the topic weak to have 3 replicas, but it has 1",
    );
    expect(await ensureTopic(admin, { ...weak, partitions: 3 })).toBe(3);
    const name = "small";
    await admin.createTopics({ topics: [name], partitions: 1, replicas: 1 });
    expect(await refused({ name, partitions: 1 })).toBe(
      "StartError: Expected the topic small to have a max.message.bytes of 2097152 or more, " +
        "but it has 1048588",
    );
    for (const [setting, value, wanted] of [
      ["retention.ms", "604800000", "-1, which is no bound"],
      ["retention.bytes", "1000000", "-1, which is no bound"],
      ["cleanup.policy", "compact", "delete"],
      ["unclean.leader.election.enable", "true", "false"],
    ] as const) {
      await setOn(admin, "weak", setting, value);
      const sentence = `Expected the topic weak to have a ${setting} of ${wanted}, but it has ${value}`;
      // Each broker hears of it in its own time.
      while ((await refused({})) !== `StartError: ${sentence}`) await Bun.sleep(20);
      await setOn(admin, "weak", setting, wanted.split(",")[0]!);
    }
    const many = await refused({ name: "many", replicas: 3 });
    expect(many).toStartWith("StartError: The topic many cannot be created: ");
  });

  test("is accepted when brokers lack a setting", async () => {
    const topic = { name: "bare", partitions: 1, replicas: 1 };
    const configs = [{ name: "max.message.bytes", value: "2097152" }];
    const admin = { describeConfigs: async () => [{ configs }] } as unknown as Admin;
    expect(await unsafeSetting(admin, topic)).toBeUndefined();
    configs.push({ name: "cleanup.policy", value: "compact" });
    expect(await unsafeSetting(admin, topic)).toContain("have a cleanup.policy of delete");
  });

  test("is reported when its settings become weaker at run time, and when they are valid again", async () => {
    const admin = clients().admin();
    const topic = { name: "watched", partitions: 1, replicas: 1 };
    await ensureTopic(admin, topic);
    const watch = monitorTopicSettings({ admin, topics: [topic], logger: quiet, everyMs: 50 });
    await setOn(admin, topic.name, "retention.ms", "1000");
    await until(() => watch.warnings().length > 0);
    expect(watch.warnings()).toEqual([
      "Expected the topic watched to have a retention.ms of -1, which is no bound, but it has 1000",
    ]);
    await setOn(admin, topic.name, "retention.ms", "-1");
    await until(() => watch.warnings().length === 0);
    watch.close();
  });

  // The broker takes seconds of CPU time to start again. With a producer of the test,
  // partition-writer.test.ts has the same in the quick tier.
  testWith(longTierMissing)(
    "refuses records while the broker is away, and takes them again without a restart",
    async () => {
      const logs = await openTopic(clients(), { name: "away", partitions: 1, replicas: 1 });
      const writer = await logs.writer(0);
      await Promise.all(texts(100).map((text) => writer.append(text)));
      await brokers().kill(0);
      await expect(writer.append("lost")).rejects.toThrow(LogUnavailable);
      expect(writer.healthy()).toBe(false);
      await expect(writer.append("refused at once")).rejects.toThrow("The brokers take nothing");
      await brokers().restart(0);
      await until(() => writer.healthy());
      await writer.append("after");
      const reader = await logs.reader(0);
      reader.advance(writer.durable());
      const read = (await readAll(reader)).map(([, text]) => text);
      expect(read.filter((text) => text !== "lost")).toEqual([...texts(100), "after"]);
    },
    900_000,
  );
});
