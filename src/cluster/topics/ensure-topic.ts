import type { Admin } from "@platformatic/kafka";
import { StartError } from "../../errors.ts";
import { LOG_BLOCK_BYTES_MAX } from "../../log/block.ts";

export interface TopicSettings {
  name: string;
  partitions: number;
  /** Brokers that have a copy of each partition. */
  replicas: number;
  /** Age and size at which values are deleted; without it values stay until trimmed. */
  retention?: { ms: number; bytes: number };
}

/** Ids that a node knows topics by, from one run to the next: a recreated topic has another id. */
export interface TopicIds {
  get(name: string): string | undefined;
  put(name: string, id: string): void;
}

/** A value is a block of the event log at most, or one change set. */
export const VALUE_BYTES_MAX = 2 * LOG_BLOCK_BYTES_MAX;

/** Segment size of a topic that its readers trim: brokers release disk space in segments. */
const SEGMENT_BYTES = 128 << 20;

/** How long a topic may take to be known everywhere. */
const APPEAR_MS_MAX = 30_000;
const APPEAR_MS = 100;

/**
 * Makes a topic unless it is there, adds the partitions that it lacks, and returns how many it has.
 * Throws `StartError` for a topic that promises less than the settings ask for: fewer copies, a
 * write that is answered before a majority of the copies has it, or values that are deleted by age
 * or size; and for one that is not, or no longer, the one that `ids` knows.
 */
export async function ensureTopic(
  admin: Admin,
  topic: TopicSettings,
  ids?: TopicIds,
): Promise<number> {
  const known = ids?.get(topic.name);
  if (!(await exists(admin, topic.name))) {
    if (known !== undefined) throw new StartError(`${gone(topic)}. ${REMEDY}`);
    await create(admin, topic);
  }
  const { partitions, replicas, id } = await appeared(admin, topic.name);
  if (known !== undefined && known !== id) {
    throw new StartError(`${gone(topic)}: the one of this name was created later. ${REMEDY}`);
  }
  ids?.put(topic.name, id);
  if (replicas < topic.replicas) {
    throw new StartError(expected(topic, `have ${topic.replicas} replicas`, replicas));
  }
  const fault = await unsafeSetting(admin, topic);
  if (fault !== undefined) throw new StartError(fault);
  return partitions < topic.partitions ? await grow(admin, topic) : partitions;
}

const gone = ({ name }: TopicSettings) => `The topic ${name} that this node has used is gone`;
const REMEDY =
  "Restore it, or remove the directory `cluster` from the data directory of every node to begin with what the topics hold";

/** A sentence about a topic setting that is too weak; undefined when there is none. */
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
  for (const [name, wanted] of WORDS) {
    const found = configs.get(name) ?? wanted;
    if (found !== wanted) return expected(topic, `have a ${name} of ${wanted}`, found);
  }
  return undefined;
}

/** Required values of settings that are words. */
const WORDS = [
  // Where values are also deleted by their keys, the brokers refuse those that have none.
  ["cleanup.policy", "delete"],
  // A replica that lags behind must not become the leader: what it lacks was acknowledged.
  ["unclean.leader.election.enable", "false"],
] as const;

/** Kafka's word for no bound of time or size. */
const UNBOUND = -1;

const expected = ({ name }: TopicSettings, what: string, found: unknown) =>
  `Expected the topic ${name} to ${what}, but it has ${found}`;

export const majorityOf = (replicas: number) => Math.floor(replicas / 2) + 1;

async function exists(admin: Admin, name: string): Promise<boolean> {
  return (await admin.listTopics()).includes(name);
}

async function create(admin: Admin, topic: TopicSettings): Promise<void> {
  const { name, partitions, replicas } = topic;
  const configs = Object.entries({
    "min.insync.replicas": String(majorityOf(replicas)),
    "max.message.bytes": String(VALUE_BYTES_MAX),
    ...Object.fromEntries(WORDS),
    // The reader deletes what it no longer needs.
    "retention.ms": String(topic.retention?.ms ?? UNBOUND),
    "retention.bytes": String(topic.retention?.bytes ?? UNBOUND),
    // Only whole segments are deleted.
    "segment.bytes": String(topic.retention ? topic.retention.bytes >> 2 : SEGMENT_BYTES),
  });
  try {
    await admin.createTopics({
      topics: [name],
      ...{ partitions, replicas },
      configs: configs.map(([key, value]) => ({ name: key, value })),
    });
  } catch (error) {
    const innermost = innermostOf(error);
    // Another node was quicker, whether or not the broker that lists topics has heard of that.
    if (innermost.apiId === "TOPIC_ALREADY_EXISTS") return;
    throw new StartError(`The topic ${name} cannot be made: ${innermost.message}`);
  }
}

async function grow(admin: Admin, { name, partitions }: TopicSettings): Promise<number> {
  try {
    await admin.createPartitions({ topics: [{ name, count: partitions, assignments: null }] });
  } catch (error) {
    // Another node was quicker.
    const innermost = innermostOf(error);
    if (innermost.apiId !== "INVALID_PARTITIONS") {
      throw new StartError(`The topic ${name} cannot grow: ${innermost.message}`);
    }
  }
  return (await appeared(admin, name, partitions)).partitions;
}

/** Partitions and copies of a topic, once every partition has a leader. */
async function appeared(admin: Admin, name: string, countMin = 1) {
  const until = performance.now() + APPEAR_MS_MAX;
  for (;;) {
    const { id = "", partitions: found = [] } = (await metadataOf(admin, name)) ?? {};
    if (found.length >= countMin && found.every(({ leader }) => leader >= 0)) {
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

/** Kafka's number for a resource that is a topic. */
const TOPIC = 2;

/** The innermost error says what is wrong; those around it name requests. */
function innermostOf(error: unknown): Error & { apiId?: string } {
  const { errors, cause } = error as AggregateError;
  const inner = errors?.at(-1) ?? cause;
  return inner === undefined ? (error as Error) : innermostOf(inner);
}
