import type { Admin } from "@platformatic/kafka";
import { StartError } from "../../errors.ts";
import type { KafkaClients } from "../../kafka/client.ts";
import { LOG_BLOCK_BYTES_MAX } from "../../log/block.ts";
import type { Logger } from "../../observe/log.ts";

export interface TopicSettings {
  name: string;
  partitions: number;
  /** Number of brokers that must store a copy of each partition. */
  replicas: number;
  /**
   * Limits above which brokers delete the oldest values of a partition: the age of a value in
   * milliseconds, and the size of the partition in bytes. If absent, values stay until a pixelmill
   * server deletes them.
   */
  retention?: { ms: number; bytes: number };
  /**
   * Whether the brokers must store in each record the time at which they appended it. Nodes compare
   * their clocks with these times. An existing topic without this setting is changed, if this node
   * has the right.
   */
  hasBrokerTimes?: boolean;
}

/**
 * Name and number of replicas of a topic in Kafka, with the clients and the logger that the node
 * uses to create the topic or to check its settings.
 */
export interface TopicOpening extends Pick<TopicSettings, "name" | "replicas"> {
  clients: KafkaClients;
  logger: Logger;
}

/**
 * Ids that topics had in earlier runs, by topic name. A different id shows that a topic was deleted
 * and created again.
 */
export interface TopicIds {
  get(name: string): string | undefined;
  put(name: string, id: string): void;
}

/**
 * Size in bytes of the largest value that a topic must accept. A value is a block of events or a
 * set of database changes.
 */
export const VALUE_BYTES_MAX = 2 * LOG_BLOCK_BYTES_MAX;

/**
 * Segment size in bytes for topics whose records the nodes delete after use. It is small, because
 * brokers free the disk space of a segment only when all its records are deleted.
 */
const SEGMENT_BYTES = 128 << 20;

/** Longest time in milliseconds to wait until each new partition has a leader. */
const APPEAR_MS_MAX = 30_000;
/** Pause in milliseconds between two checks whether the new partitions have leaders. */
const APPEAR_MS = 100;

/**
 * Creates a missing topic, adds missing partitions, and returns the number of partitions. Throws
 * `StartError` in these cases:
 * - One of these steps fails.
 * - A partition has fewer than `topic.replicas` replicas.
 * - A setting of the topic is unsafe (see `unsafeSetting`).
 * - The topic that this node used before (see `ids`) is gone or was created again.
 */
export async function ensureTopic(
  admin: Admin,
  topic: TopicSettings,
  ids?: TopicIds,
): Promise<number> {
  const known = ids?.get(topic.name);
  const isNew = !(await admin.listTopics()).includes(topic.name);
  if (isNew) {
    if (known !== undefined) throw new StartError(`${gone(topic)}. ${REMEDY}`);
    await create(admin, topic);
  }
  // A partition that lost its leader must not stop a start, because the others work.
  const newFrom = isNew ? 0 : Number.POSITIVE_INFINITY;
  const { partitions, replicas, id } = await appeared(admin, topic.name, { countMin: 1, newFrom });
  if (known !== undefined && known !== id) {
    const found = "the one of this name was created later, or cluster.kafka names other brokers";
    throw new StartError(`${gone(topic)}: ${found}. ${REMEDY}`);
  }
  ids?.put(topic.name, id);
  if (replicas < topic.replicas) {
    throw new StartError(expected(topic, `have ${topic.replicas} replicas`, replicas));
  }
  const fault = await unsafeSetting(admin, topic);
  if (fault !== undefined) throw new StartError(fault);
  if (topic.hasBrokerTimes) await useBrokerTimes(admin, topic);
  return partitions < topic.partitions ? await grow(admin, topic, partitions) : partitions;
}

const gone = ({ name }: TopicSettings) => `The topic ${name} that this node has used is gone`;
const REMEDY =
  "Restore it, or remove the directory `cluster` from the data directory of every node to begin with what the topics hold";

/**
 * Checks the settings of a topic. Returns a sentence about the first setting that may cause values
 * to be lost or refused, or `undefined` if there is none.
 */
export async function unsafeSetting(
  admin: Admin,
  topic: TopicSettings,
): Promise<string | undefined> {
  const configs = await configsOf(admin, topic.name);
  const { retention } = topic;
  const leasts = {
    "min.insync.replicas": majorityOf(topic.replicas),
    "max.message.bytes": VALUE_BYTES_MAX,
    "retention.ms": retention?.ms ?? UNBOUND,
    "retention.bytes": retention?.bytes ?? UNBOUND,
  };
  for (const [name, least] of Object.entries(leasts)) {
    const told = configs.get(name);
    const found = Number(told);
    // A setting that the broker does not report does not exist there.
    if (told === undefined || found === UNBOUND || (found >= least && least !== UNBOUND)) continue;
    const which = least === UNBOUND ? "-1, which is no bound" : `${least} or more`;
    return expected(topic, `have a ${name} of ${which}`, found);
  }
  for (const [name, wanted] of TEXT_CONFIGS) {
    const found = configs.get(name) ?? wanted;
    if (found !== wanted) return expected(topic, `have a ${name} of ${wanted}`, found);
  }
  return undefined;
}

/** Topic settings whose values are not numbers, each with its required value. */
const TEXT_CONFIGS = [
  // With compaction, brokers refuse values without keys, and pixelmill's values have none.
  ["cleanup.policy", "delete"],
  // A replica that lags must not become the leader: it lacks acknowledged values.
  ["unclean.leader.election.enable", "false"],
] as const;

/** Value of a Kafka retention setting that means "no limit". */
const UNBOUND = -1;

const expected = ({ name }: TopicSettings, what: string, found: unknown) =>
  `Expected the topic ${name} to ${what}, but it has ${found}`;

export const majorityOf = (replicas: number) => Math.floor(replicas / 2) + 1;

async function create(admin: Admin, topic: TopicSettings): Promise<void> {
  const { name, partitions, replicas } = topic;
  const configs = Object.entries({
    "min.insync.replicas": String(majorityOf(replicas)),
    "max.message.bytes": String(VALUE_BYTES_MAX),
    ...Object.fromEntries(TEXT_CONFIGS),
    ...(topic.hasBrokerTimes && { [TIMESTAMP_TYPE]: BROKER_TIMES }),
    // The reader deletes what it no longer needs.
    "retention.ms": String(topic.retention?.ms ?? UNBOUND),
    "retention.bytes": String(topic.retention?.bytes ?? UNBOUND),
    // Only whole segments are deleted.
    "segment.bytes": String(topic.retention ? topic.retention.bytes >> 2 : SEGMENT_BYTES),
  });
  try {
    await admin.createTopics({
      topics: [name],
      partitions,
      replicas,
      configs: configs.map(([key, value]) => ({ name: key, value })),
    });
  } catch (error) {
    const innermost = innermostOf(error);
    // Another node has created the topic at the same time.
    if (innermost.apiId === "TOPIC_ALREADY_EXISTS") return;
    throw new StartError(`The topic ${name} cannot be created: ${innermost.message}`);
  }
}

async function useBrokerTimes(admin: Admin, { name }: TopicSettings): Promise<void> {
  if ((await configsOf(admin, name)).get(TIMESTAMP_TYPE) === BROKER_TIMES) return;
  const configs = [{ name: TIMESTAMP_TYPE, configOperation: SET, value: BROKER_TIMES }];
  const resources = [{ resourceType: TOPIC, resourceName: name, configs }];
  // Without the right to change the topic, clocks are not compared.
  await admin.incrementalAlterConfigs({ resources }).catch(() => {});
}

/**
 * Raises the number of a topic's partitions from `before` to `partitions`. Returns the number that
 * the topic then has.
 */
async function grow(
  admin: Admin,
  { name, partitions }: TopicSettings,
  before: number,
): Promise<number> {
  try {
    await admin.createPartitions({ topics: [{ name, count: partitions, assignments: null }] });
  } catch (error) {
    // Another node has added the partitions at the same time.
    const innermost = innermostOf(error);
    if (innermost.apiId !== "INVALID_PARTITIONS") {
      throw new StartError(`The topic ${name} cannot grow: ${innermost.message}`);
    }
  }
  const appearing = { countMin: partitions, newFrom: before };
  return (await appeared(admin, name, appearing)).partitions;
}

interface Appearing {
  countMin: number;
  /** Lowest new partition. `appeared` waits until it and all higher ones have leaders. */
  newFrom: number;
}

/**
 * Waits until a topic has at least `countMin` partitions, and each partition from `newFrom` on has
 * a leader. Throws `StartError` after `APPEAR_MS_MAX`. `replicas` of the result is the lowest
 * number of replicas of a partition.
 */
async function appeared(admin: Admin, name: string, { countMin, newFrom }: Appearing) {
  const until = performance.now() + APPEAR_MS_MAX;
  for (;;) {
    const { id = "", partitions: found = [] } = (await metadataOf(admin, name)) ?? {};
    const isLed = found.slice(newFrom).every(({ leader }) => leader >= 0);
    if (found.length >= countMin && isLed) {
      const replicas = Math.min(...found.map((it) => it.replicas.length));
      return { partitions: found.length, replicas, id };
    }
    if (performance.now() > until) throw new StartError(`The topic ${name} has no leaders`);
    await Bun.sleep(APPEAR_MS);
  }
}

async function metadataOf(admin: Admin, name: string) {
  try {
    return (await admin.metadata({ topics: [name], forceUpdate: true })).topics.get(name);
  } catch {
    // The broker that was asked has not heard of the topic yet.
    return undefined;
  }
}

async function configsOf(admin: Admin, name: string): Promise<Map<string, string | null>> {
  const resources = [{ resourceType: TOPIC, resourceName: name, configurationKeys: null }];
  const [described] = await admin.describeConfigs({ resources } as DescribeConfigs);
  return new Map(described?.configs.map((it) => [it.name, it.value ?? null]));
}

type DescribeConfigs = Parameters<Admin["describeConfigs"]>[0];

/** Number that stands for the resource type "topic" in Kafka's protocol. */
const TOPIC = 2 as const;
/** Number that stands for "set the value" in a Kafka request that changes settings. */
const SET = 0 as const;

const TIMESTAMP_TYPE = "message.timestamp.type";
const BROKER_TIMES = "LogAppendTime";

/**
 * Returns the innermost cause of an error of the Kafka library. Only this cause says what is wrong:
 * the errors around it say only which requests failed.
 */
function innermostOf(error: unknown): Error & { apiId?: string } {
  const { errors, cause } = error as AggregateError;
  const inner = errors?.at(-1) ?? cause;
  return inner === undefined ? (error as Error) : innermostOf(inner);
}
