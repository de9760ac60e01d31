import type { ClusterTopicMetadata } from "@platformatic/kafka";
import {
  epochOf,
  type ForeignBroker,
  latestStatement,
  mostFrequent,
  type OutdatedBroker,
  statementsByPartition,
} from "./leader-epochs.ts";
import type { MetadataAnswer } from "./library.ts";

type TopicAnswer = MetadataAnswer["topics"][number];
export type ListedBroker = MetadataAnswer["brokers"][number];

/** Maximum number of broker addresses that are remembered from metadata answers. */
const NAMED_MAX = 1_000;

/** Brokers, partition leaders and controller of a cluster, merged from several metadata answers. */
interface MergedView {
  topics: ReadonlyMap<string, ClusterTopicMetadata | TopicAnswer>;
  brokers: ReadonlyMap<number, ListedBroker>;
  /** Addresses of the brokers in `brokers`. */
  listed: ReadonlySet<string>;
  controllerId: number;
}

const EMPTY: MergedView = {
  topics: new Map(),
  brokers: new Map(),
  listed: new Set(),
  controllerId: -1,
};

/**
 * Merges the last metadata answer of each broker into one view of the Kafka cluster. Ignores
 * answers from another cluster than that of the first answer.
 * - The leader of a partition is the one with the highest leader epoch.
 * - A broker belongs to the cluster if at least half of the answers list it. Answers that name a
 *   former leader count only if all answers name one.
 */
export class ClusterView {
  readonly #answers = new Map<string, MetadataAnswer>();
  /** Ids of other Kafka clusters, each by the address of a broker that belongs to it. */
  readonly #foreign = new Map<string, string>();
  /** Id of the Kafka cluster. Undefined before a broker has reported it. */
  #clusterId: string | undefined;
  /** Broker id for each of the last `NAMED_MAX` addresses in answers, the oldest address first. */
  readonly #named = new Map<string, number>();
  #outdated = new Map<string, Omit<OutdatedBroker, "forMs"> & { since: number }>();
  #merged: MergedView = EMPTY;

  /** Stores a metadata answer of the broker at `address` in place of its previous one. */
  take(address: string, answer: MetadataAnswer): void {
    const clusterId = answer.clusterId ?? undefined;
    this.#clusterId ??= clusterId;
    if (clusterId !== undefined && clusterId !== this.#clusterId) {
      this.#foreign.set(address, clusterId);
      this.drop(address);
      return;
    }
    this.#foreign.delete(address);
    for (const broker of answer.brokers) {
      this.#named.delete(addressOf(broker));
      this.#named.set(addressOf(broker), broker.nodeId);
    }
    while (this.#named.size > NAMED_MAX) this.#named.delete(this.#named.keys().next().value!);
    this.#answers.set(address, answer);
    this.#merge();
  }

  /** Drops the last metadata answer of a broker that has stopped responding. */
  drop(address: string): void {
    if (this.#answers.delete(address)) this.#merge();
  }

  get isEmpty(): boolean {
    return this.#answers.size === 0;
  }

  /**
   * Returns a topic's partitions, or undefined if no answer has the topic. If most answers have no
   * partitions for it, returns the topic's entry in one of these answers, with an error code.
   */
  topic(name: string): ClusterTopicMetadata | TopicAnswer | undefined {
    return this.#merged.topics.get(name);
  }

  /**
   * Returns the leader's broker id for each partition of a topic; negative for a partition without
   * a leader. Returns undefined for an unknown topic.
   */
  leaders(name: string): readonly number[] | undefined {
    const topic = this.#merged.topics.get(name);
    if (topic === undefined || "errorCode" in topic) return undefined;
    return topic.partitions.map(({ leader }) => leader);
  }

  /** Brokers of the cluster, by broker id. */
  get brokers(): ReadonlyMap<number, ListedBroker> {
    return this.#merged.brokers;
  }

  get controllerId(): number {
    return this.#merged.controllerId;
  }

  /** Id of the Kafka cluster; empty before a broker has reported it. */
  get clusterId(): string {
    return this.#clusterId ?? "";
  }

  /** Returns the brokers that belong to another Kafka cluster. */
  foreign(): ForeignBroker[] {
    return [...this.#foreign].map(([address, clusterId]) => ({ address, clusterId }));
  }

  /** Whether requests may be sent to a broker: it belongs to this Kafka cluster. */
  isUsable(address: string): boolean {
    return !this.hasLeft(address) && !this.#foreign.has(address);
  }

  isForeign(address: string): boolean {
    return this.#foreign.has(address);
  }

  /** Whether the broker is not in the cluster at present, although an earlier answer listed it. */
  hasLeft(address: string): boolean {
    return this.#named.has(address) && !this.#merged.listed.has(address);
  }

  /**
   * Whether any answer so far has listed a broker at this address. The brokers may list a broker at
   * another address than the settings do.
   */
  wasListed(address: string): boolean {
    return this.#named.has(address);
  }

  /** Returns a broker's name: `Broker 2 (host:port)`; `Broker host:port` if its id is unknown. */
  nameOf(address: string): string {
    const id = this.#named.get(address);
    return id === undefined ? `Broker ${address}` : `Broker ${id} (${address})`;
  }

  /**
   * Returns the address of the broker with this id. Uses the last answers of all brokers first,
   * then earlier answers. Returns undefined if none of them lists the broker.
   */
  addressOfBroker(id: number): string | undefined {
    return this.#listed().get(id) ?? [...this.#named].findLast(([, of]) => of === id)?.[0];
  }

  /** Whether a broker is outdated: it names former leaders, or the other brokers do not list it. */
  isOutdated(address: string): boolean {
    return this.#outdated.has(address);
  }

  /** Returns the brokers that are outdated at present (see `OutdatedBroker`), sorted by address. */
  outdated(): OutdatedBroker[] {
    return [...this.#outdated.values()].map(({ since, ...broker }) => ({
      ...broker,
      forMs: performance.now() - since,
    }));
  }

  #merge(): void {
    const answers = [...this.#answers].sort(([a], [b]) => (a < b ? -1 : 1));
    const behind = new Map(answers.map(([address]) => [address, [] as BehindLeader[]]));
    const topics = new Map<string, ClusterTopicMetadata | TopicAnswer>();
    for (const [name, statements] of statementsByTopic(answers)) {
      topics.set(name, mergedTopic(name, statements, behind));
    }
    if (answers.length === 0) {
      this.#merged = { ...this.#merged, topics };
      this.#outdated = new Map();
      return;
    }
    const upToDate = answers.filter(([address]) => behind.get(address)!.length === 0);
    const counted = (upToDate.length > 0 ? upToDate : answers).map(([, answer]) => answer);
    const brokers = mergedBrokers(counted);
    const listed = new Set([...brokers.values()].map(addressOf));
    const { controllerId } = counted.find((it) => brokers.has(it.controllerId)) ?? counted[0]!;
    this.#merged = { topics, brokers, listed, controllerId };
    this.#noteOutdated(behind);
  }

  #noteOutdated(behind: ReadonlyMap<string, BehindLeader[]>): void {
    const before = this.#outdated;
    this.#outdated = new Map();
    const addresses = this.#listed();
    for (const [address, leaders] of behind) {
      const isListed = !this.hasLeft(address);
      if (isListed && leaders.length === 0) continue;
      const since = before.get(address)?.since ?? performance.now();
      const partitions = leaders.map(({ named, latest, ...partition }) => ({
        ...partition,
        named: addresses.get(named),
        latest: addresses.get(latest),
      }));
      this.#outdated.set(address, { address, since, isListed, partitions });
    }
  }

  /** Returns the broker addresses in the last answers of all brokers, by broker id. */
  #listed(): Map<number, string> {
    const brokers = [...this.#answers.values()].flatMap((answer) => answer.brokers);
    return new Map(brokers.map((broker) => [broker.nodeId, addressOf(broker)]));
  }
}

/** Partition for which a broker reports a lower leader epoch than another broker. */
interface BehindLeader {
  topic: string;
  partition: number;
  /** Broker id that the broker names as the leader; negative if the broker names no leader. */
  named: number;
  /** Broker id of the leader with the highest epoch. */
  latest: number;
}

type AddressedAnswer = [address: string, answer: MetadataAnswer];

/** Metadata of a topic in one broker's answer; `id` is the broker's id, if the answer has it. */
type TopicStatement = { address: string; id: number | undefined; topic: TopicAnswer };

/** Groups all answers' topics by name. If an answer has a name twice, the last topic counts. */
function statementsByTopic(answers: readonly AddressedAnswer[]): Map<string, TopicStatement[]> {
  const all = answers.flatMap(([address, { topics, brokers }]) => {
    const id = brokers.find((it) => addressOf(it) === address)?.nodeId;
    const byName = new Map(topics.map((topic) => [topic.name!, topic]));
    return [...byName.values()].map((topic) => ({ address, id, topic }));
  });
  return Map.groupBy(all, ({ topic }) => topic.name!);
}

function mergedTopic(
  name: string,
  all: readonly TopicStatement[],
  behind: ReadonlyMap<string, BehindLeader[]>,
): ClusterTopicMetadata | TopicAnswer {
  // A topic that was created again has another id; its leader epochs start again.
  const key = mostFrequent(all.map(({ topic }) => identityOf(topic)));
  const same = all.filter(({ topic }) => identityOf(topic) === key);
  if (key === MISSING) return same[0]!.topic;
  const answered = same.map(({ address, topic, id }) =>
    topic.partitions.map((it) => ({ ...it, address, by: id })),
  );
  const partitions = statementsByPartition(answered).map((statements, partition) => {
    const latest = latestStatement(statements);
    if (latest === undefined) return NO_LEADER;
    for (const { address, ...statement } of statements) {
      if (epochOf(statement) === epochOf(latest)) continue;
      const named = statement.leaderId;
      behind.get(address)!.push({ topic: name, partition, named, latest: latest.leaderId });
    }
    // The leader itself knows best which replicas are in sync.
    const isOwn = (it: typeof latest) =>
      it.by === latest.leaderId &&
      it.leaderId === latest.leaderId &&
      epochOf(it) === epochOf(latest);
    const own = statements.find(isOwn) ?? latest;
    const { leaderId: leader, leaderEpoch, replicaNodes: replicas, isrNodes: isr } = own;
    return { leader, leaderEpoch, replicas, isr, offlineReplicas: own.offlineReplicas };
  });
  return { id: key, partitions, partitionsCount: partitions.length, lastUpdate: Date.now() };
}

const NO_LEADER = { leader: -1, leaderEpoch: -1, replicas: [], isr: [], offlineReplicas: [] };

/** Result of `identityOf` for a topic that has no partitions in a broker's answer. */
const MISSING = "";

/** Returns `MISSING` for a topic without partitions, else its id (before Kafka 2.8, its name). */
const identityOf = ({ topicId, name, partitions }: TopicAnswer) =>
  partitions.length === 0 ? MISSING : (topicId ?? name!);

/** Returns the brokers that at least half of `answers` list, by broker id. */
function mergedBrokers(answers: readonly MetadataAnswer[]): Map<number, ListedBroker> {
  const all = Map.groupBy(
    answers.flatMap(({ brokers }) => brokers),
    ({ nodeId }) => nodeId,
  );
  const brokers = new Map<number, ListedBroker>();
  for (const [id, found] of all) {
    if (2 * found.length < answers.length) continue;
    // A broker that moved has two addresses until all others know the new one.
    const address = mostFrequent(found.map(addressOf));
    brokers.set(id, found.find((it) => addressOf(it) === address)!);
  }
  return brokers;
}

/**
 * Returns the key of a broker's connection in the Kafka library's pool: `host:port`, with an IPv6
 * host without brackets.
 */
export const addressOf = (broker: { host: string; port: number } | string) =>
  typeof broker === "string" ? broker.replaceAll(/[[\]]/g, "") : `${broker.host}:${broker.port}`;
