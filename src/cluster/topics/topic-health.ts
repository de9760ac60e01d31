import type { ClusterTopicMetadata } from "@platformatic/kafka";
import type { KafkaClients } from "../../kafka/client.ts";
import type { ClusterView, ForeignBroker, OutdatedBroker } from "../../kafka/cluster-view.ts";
import { majorityOf } from "./ensure-topic.ts";
import { nameNumbers } from "./number-list.ts";

/** Topic that the cluster needs. */
export interface NeededTopic {
  name: string;
  /** Number of brokers that must store a copy of each partition. */
  replicas: number;
  /** Clause about what an operator must do when the topic was deleted. */
  remedy: string;
}

export interface TopicHealthOptions {
  clients: Pick<KafkaClients, "unresponsiveBrokers" | "outdatedBrokers" | "foreignBrokers"> & {
    view: Pick<ClusterView, "topic">;
  };
  /** Returns the topics to check. */
  topics(): NeededTopic[];
}

/** Judges the brokers of the cluster and the replicas of its topics by the brokers' last answers. */
export type TopicHealth = ReturnType<typeof judgeTopics>;

/**
 * Time in milliseconds for which a broker must contradict the others before it is named. Brokers
 * hear of a new leader one after another.
 */
const OUTDATED_MS_MIN = 3_000;

/** Kafka's error codes for a topic that does not exist, and for one that this user may not read. */
const UNKNOWN_TOPICS: ReadonlySet<number> = new Set([3, 100]);
const FORBIDDEN = 29;

export function judgeTopics({ clients, topics }: TopicHealthOptions) {
  return {
    /**
     * Returns one sentence for each broker that does not answer, contradicts the others or belongs to
     * another Kafka cluster, and for partitions that lack a leader or a replica.
     */
    warnings: () => [
      ...clients.unresponsiveBrokers().map((address) => `Broker ${address} does not answer`),
      ...clients.foreignBrokers().map(describeForeign),
      ...clients
        .outdatedBrokers()
        .filter(({ forMs }) => forMs >= OUTDATED_MS_MIN)
        .map(describeOutdated),
      ...topics().flatMap(({ name, replicas }) => {
        const found = clients.view.topic(name);
        // Without an answer nothing is known about the topic.
        if (found === undefined || "errorCode" in found) return [];
        return lackingIn(found, name, majorityOf(replicas));
      }),
    ],
    /** Returns a sentence about a topic that does not exist or may not be read; else undefined. */
    missing(name: string) {
      const found = clients.view.topic(name);
      if (found === undefined || !("errorCode" in found)) return undefined;
      const { remedy } = topics().find((it) => it.name === name)!;
      if (UNKNOWN_TOPICS.has(found.errorCode)) return `The topic ${name} does not exist: ${remedy}`;
      return found.errorCode === FORBIDDEN
        ? `The brokers deny this node the right to read the topic ${name}`
        : `The brokers answer for the topic ${name} with error ${found.errorCode}`;
    },
  };
}

const describeForeign = ({ address, clusterId }: ForeignBroker) =>
  `Broker ${address} belongs to another Kafka cluster, ${clusterId}, and is not used: name only brokers of one cluster in cluster.kafka`;

/** Describes how a broker contradicts the other brokers. */
function describeOutdated({ address, isListed, partitions }: OutdatedBroker): string {
  if (partitions.length === 0) {
    return `Broker ${address} answers, but the other brokers do not list it: check its network to them`;
  }
  const groups = Map.groupBy(partitions, ({ topic, named = "no leader", latest = "no leader" }) => {
    return `${named} and not ${latest} for ${topic}`;
  });
  const claims = [...groups].map(([claim, of]) => {
    return `${claim} ${nameNumbers(of.map(({ partition }) => partition))}`;
  });
  const also = isListed ? "" : " and they do not list it";
  return `Broker ${address} disagrees with the other brokers on who leads${also}, it names ${claims.join(", ")}: check its network to them`;
}

/**
 * Returns sentences about a topic's partitions that lack a leader or replicas. Each such partition
 * is in one sentence, for its worst problem.
 */
function lackingIn(found: ClusterTopicMetadata, name: string, leastCopies: number): string[] {
  const lacks = { leader: [] as number[], write: [] as number[], copy: [] as number[] };
  const away = new Set<number>();
  for (const [partition, it] of found.partitions.entries()) {
    const copies = it.replicas.filter((broker) => it.isr.includes(broker));
    if (it.leader < 0) lacks.leader.push(partition);
    else if (copies.length < leastCopies) lacks.write.push(partition);
    else if (copies.length < it.replicas.length) lacks.copy.push(partition);
    for (const broker of it.replicas) if (!it.isr.includes(broker)) away.add(broker);
  }
  const brokers = `${away.size === 1 ? "broker" : "brokers"} ${nameNumbers([...away])}`;
  const sentences = {
    leader: `has no leader, and is neither read nor written, without ${brokers}`,
    write: `has fewer than ${leastCopies} copies in sync, and is not written, without ${brokers}`,
    copy: `lacks copies on ${brokers}`,
  };
  return (["leader", "write", "copy"] as const).flatMap((lack) =>
    lacks[lack].length === 0
      ? []
      : `${name} ${sentences[lack]}, in partitions ${nameNumbers(lacks[lack])}`,
  );
}
