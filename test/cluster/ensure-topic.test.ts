import { expect, onTestFinished, test } from "bun:test";
import type { Admin } from "@platformatic/kafka";
import {
  ensureTopic,
  majorityOf,
  type TopicIds,
  type TopicSettings,
  unsafeSetting,
  VALUE_BYTES_MAX,
} from "../../src/cluster/topics/ensure-topic.ts";
import { monitorTopicSettings } from "../../src/cluster/topics/topic-settings-monitor.ts";
import type { Logger } from "../../src/observe/log.ts";
import { holds, until } from "../until.ts";

/** Topics and their settings, by brokers that exist in memory alone. */

interface Partition {
  leader: number;
  replicas: number[];
}

const refusal = (apiId: string) =>
  new AggregateError([
    new Error("request failed", { cause: Object.assign(new Error(apiId), { apiId }) }),
  ]);

/**
 * Brokers with topics. With `isSlow`, a new topic is unknown at the first look, and has leaders
 * from the third on.
 */
function brokers({ isSlow = false } = {}) {
  const topics = new Map<
    string,
    { id: string; partitions: Partition[]; settings: Map<string, string> }
  >();
  let looks = 0;
  let refused: string | undefined;
  const partitionsOf = (count: number, replicas: number): Partition[] =>
    Array.from({ length: count }, () => ({
      leader: isSlow ? -1 : 0,
      replicas: Array(replicas).fill(1),
    }));
  const failIfRefused = () => {
    if (refused !== undefined) throw refusal(refused);
  };
  const admin = {
    listTopics: async () => [...topics.keys()],
    async createTopics({ topics: [name], partitions, replicas, configs }: any) {
      failIfRefused();
      const settings = new Map<string, string>(configs.map((it: any) => [it.name, it.value]));
      topics.set(name, {
        id: `id of ${name}`,
        partitions: partitionsOf(partitions, replicas),
        settings,
      });
    },
    async createPartitions({ topics: [{ name, count }] }: any) {
      failIfRefused();
      const { partitions } = topics.get(name)!;
      partitions.push(...partitionsOf(count - partitions.length, partitions[0]!.replicas.length));
    },
    async metadata({ topics: [name], forceUpdate }: any) {
      expect(forceUpdate).toBe(true);
      looks += 1;
      if (isSlow && looks === 1) throw new Error("This broker does not know the topic yet");
      const topic = topics.get(name);
      const answer = structuredClone(topic);
      for (const partition of topic?.partitions ?? []) partition.leader = 0;
      return { topics: new Map(topic ? [[name, answer]] : []) };
    },
    async describeConfigs({ resources: [{ resourceType, resourceName }] }: any) {
      expect(resourceType).toBe(2);
      const settings = topics.get(resourceName)?.settings;
      if (settings === undefined) return [];
      return [{ configs: [...settings].map(([name, value]) => ({ name, value })) }];
    },
    async incrementalAlterConfigs({ resources: [{ resourceType, resourceName, configs }] }: any) {
      failIfRefused();
      expect(resourceType).toBe(2);
      for (const { name, configOperation, value } of configs) {
        expect(configOperation).toBe(0);
        topics.get(resourceName)!.settings.set(name, value);
      }
    },
  } as unknown as Admin;
  return {
    admin,
    topics,
    /** Refuses each further change with this error. */
    refuse: (apiId: string) => {
      refused = apiId;
    },
  };
}

const topic: TopicSettings = { name: "pm.events", partitions: 4, replicas: 3 };

/** Brokers with the topic, created as `topic` is. */
async function brokersWithTopic(created = topic) {
  const found = brokers();
  await ensureTopic(found.admin, created);
  return { ...found, created: found.topics.get(created.name)! };
}

test("a missing topic is created with settings that lose no value", async () => {
  const { admin, topics } = brokers({ isSlow: true });
  expect(await ensureTopic(admin, topic)).toBe(4);
  const { partitions, settings } = topics.get("pm.events")!;
  expect(partitions).toEqual(Array(4).fill({ leader: 0, replicas: [1, 1, 1] }));
  expect(Object.fromEntries(settings)).toEqual({
    "min.insync.replicas": "2",
    "max.message.bytes": String(VALUE_BYTES_MAX),
    "cleanup.policy": "delete",
    "unclean.leader.election.enable": "false",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "segment.bytes": String(128 * 2 ** 20),
  });
  expect(await unsafeSetting(admin, topic)).toBeUndefined();
});

test("a topic whose old values brokers delete has several segments within its size", async () => {
  const retention = { ms: 60_000, bytes: 4_000 };
  const { created } = await brokersWithTopic({ ...topic, retention, hasBrokerTimes: true });
  expect(Object.fromEntries(created.settings)).toMatchObject({
    "retention.ms": "60000",
    "retention.bytes": "4000",
    "segment.bytes": "1000",
    "message.timestamp.type": "LogAppendTime",
  });
});

test("most replicas must have a value before it is acknowledged", () => {
  expect([1, 2, 3, 4, 5].map(majorityOf)).toEqual([1, 2, 2, 3, 3]);
});

test("partitions are added to a topic that has fewer, and none are removed", async () => {
  const { admin, created } = await brokersWithTopic();
  expect(await ensureTopic(admin, { ...topic, partitions: 6 })).toBe(6);
  expect(created.partitions).toHaveLength(6);
  expect(await ensureTopic(admin, { ...topic, partitions: 2 })).toBe(6);
  expect(created.partitions).toHaveLength(6);
});

test("a topic that another node creates or grows at the same time is used", async () => {
  const racing = brokers();
  racing.refuse("TOPIC_ALREADY_EXISTS");
  const ensured = ensureTopic(racing.admin, topic);
  await Bun.sleep(1);
  racing.topics.set(topic.name, {
    id: "other",
    partitions: Array.from({ length: 4 }, () => ({ leader: 1, replicas: [1, 2, 3] })),
    settings: new Map(),
  });
  expect(await ensured).toBe(4);
  racing.refuse("INVALID_PARTITIONS");
  const grown = ensureTopic(racing.admin, { ...topic, partitions: 5 });
  await Bun.sleep(1);
  racing.topics.get(topic.name)!.partitions.push({ leader: 1, replicas: [1] });
  expect(await grown).toBe(5);
});

test("a partition of an existing topic that has no leader stops neither a start nor its growth", async () => {
  const { admin, created } = await brokersWithTopic();
  const leaderless = { get: () => -1, set() {}, enumerable: true };
  Object.defineProperty(created.partitions[1]!, "leader", leaderless);
  expect(await ensureTopic(admin, topic)).toBe(4);
  expect(await ensureTopic(admin, { ...topic, partitions: 6 })).toBe(6);
});

test("a start ends with the reason of the brokers when they refuse a topic", async () => {
  const { admin, refuse } = brokers();
  refuse("TOPIC_AUTHORIZATION_FAILED");
  await expect(ensureTopic(admin, topic)).rejects.toThrow(
    "The topic pm.events cannot be created: TOPIC_AUTHORIZATION_FAILED",
  );
  const grown = await brokersWithTopic();
  grown.refuse("CLUSTER_AUTHORIZATION_FAILED");
  await expect(ensureTopic(grown.admin, { ...topic, partitions: 5 })).rejects.toThrow(
    "The topic pm.events cannot grow: CLUSTER_AUTHORIZATION_FAILED",
  );
  // Without the right to change the topic, its times are not the brokers'.
  expect(await ensureTopic(grown.admin, { ...topic, hasBrokerTimes: true })).toBe(4);
  expect(grown.created.settings.has("message.timestamp.type")).toBe(false);
});

test("an older topic gets the brokers' times", async () => {
  const { admin, created } = await brokersWithTopic();
  await ensureTopic(admin, { ...topic, hasBrokerTimes: true });
  expect(created.settings.get("message.timestamp.type")).toBe("LogAppendTime");
});

test("a topic with fewer replicas than the settings is refused, by its worst partition", async () => {
  const { admin, created } = await brokersWithTopic();
  created.partitions[2]!.replicas = [1, 2];
  await expect(ensureTopic(admin, topic)).rejects.toThrow(
    "Expected the topic pm.events to have 3 replicas, but it has 2",
  );
  expect(await ensureTopic(admin, { ...topic, replicas: 2 })).toBe(4);
});

test("a setting of a topic that risks a loss is named, with what it should be", async () => {
  const bounded = { ...topic, retention: { ms: 60_000, bytes: 4_000 } };
  const noBound = "-1, which is no bound";
  const table: [of: TopicSettings, name: string, value: string, wanted: string | undefined][] = [
    [topic, "min.insync.replicas", "1", "2 or more"],
    [topic, "min.insync.replicas", "3", undefined],
    [topic, "max.message.bytes", String(VALUE_BYTES_MAX - 1), `${VALUE_BYTES_MAX} or more`],
    [topic, "max.message.bytes", String(VALUE_BYTES_MAX), undefined],
    [topic, "retention.ms", "9000000000", noBound],
    [topic, "retention.bytes", "9000000000", noBound],
    [bounded, "retention.ms", "59999", "60000 or more"],
    [bounded, "retention.ms", "60000", undefined],
    [bounded, "retention.bytes", "3999", "4000 or more"],
    [bounded, "retention.bytes", "-1", undefined],
    [topic, "cleanup.policy", "compact", "delete"],
    [topic, "unclean.leader.election.enable", "true", "false"],
  ];
  for (const [of, name, value, wanted] of table) {
    const { admin, created } = await brokersWithTopic(of);
    created.settings.set(name, value);
    const sentence = `Expected the topic pm.events to have a ${name} of ${wanted}, but it has ${value}`;
    const expected = wanted === undefined ? undefined : sentence;
    expect(await unsafeSetting(admin, of)).toBe(expected!);
    const start = ensureTopic(admin, of);
    if (expected === undefined) expect(await start).toBe(4);
    else await expect(start).rejects.toThrow(expected);
  }
});

test("settings that brokers do not report risk nothing", async () => {
  const { admin, created } = await brokersWithTopic();
  created.settings.clear();
  expect(await unsafeSetting(admin, topic)).toBeUndefined();
});

test("a topic that was deleted, or created again, is not used in place of the one before", async () => {
  const known = new Map<string, string>();
  const ids: TopicIds = { get: (name) => known.get(name), put: (name, id) => known.set(name, id) };
  const { admin, topics } = brokers();
  await ensureTopic(admin, topic, ids);
  expect([...known]).toEqual([["pm.events", "id of pm.events"]]);
  expect(await ensureTopic(admin, topic, ids)).toBe(4);
  topics.get("pm.events")!.id = "later";
  await expect(ensureTopic(admin, topic, ids)).rejects.toThrow(
    "The topic pm.events that this node has used is gone: the one of this name was created later",
  );
  topics.clear();
  await expect(ensureTopic(admin, topic, ids)).rejects.toThrow("is gone. Restore it");
  expect([...topics]).toEqual([]);
});

test("a setting that becomes unsafe is a warning until it is safe again, and is logged once", async () => {
  const { admin, created } = await brokersWithTopic();
  const lines: string[] = [];
  const logger = {
    info: (_: object, line: string) => lines.push(line),
    error: (_: object, line: string) => lines.push(line),
  } as unknown as Logger;
  const monitor = monitorTopicSettings({ admin, topics: [topic], logger, everyMs: 1 });
  onTestFinished(() => monitor.close());
  created.settings.set("cleanup.policy", "compact");
  await until(() => monitor.warnings().length > 0);
  const fault =
    "Expected the topic pm.events to have a cleanup.policy of delete, but it has compact";
  expect(monitor.warnings()).toEqual([fault]);
  // Brokers that do not answer change nothing.
  const { describeConfigs } = admin;
  let asked = 0;
  admin.describeConfigs = () => {
    asked += 1;
    return Promise.reject(new Error("no answer"));
  };
  await until(() => asked > 2);
  expect(monitor.warnings()).toEqual([fault]);
  // A check that lasts longer than the pause between two is not begun again meanwhile.
  const slow = Promise.withResolvers<never>();
  asked = 0;
  admin.describeConfigs = () => {
    asked += 1;
    return slow.promise;
  };
  await until(() => asked > 0);
  await holds(20, () => expect(asked).toBe(1));
  slow.reject(new Error("no answer"));
  admin.describeConfigs = describeConfigs;
  created.settings.set("cleanup.policy", "delete");
  await until(() => monitor.warnings().length === 0);
  expect(lines).toEqual([fault, "topic settings valid again"]);
});
