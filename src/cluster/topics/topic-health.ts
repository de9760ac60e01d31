import type { Admin, ClusterMetadata } from "@platformatic/kafka";
import type { KafkaClients } from "../../kafka/client.ts";
import { majorityOf, type TopicSettings } from "./ensure-topic.ts";

export interface TopicHealthOptions {
  clients: KafkaClients;
  /** Returns the topics to check, with the number of replicas that each topic must have. */
  topics(): Pick<TopicSettings, "name" | "replicas">[];
  /** Interval in milliseconds between two checks of brokers and topics. */
  everyMs?: number;
}

/** Watches the brokers of the cluster and the replicas of its topics. */
export interface TopicHealth {
  /**
   * Returns one sentence for each broker that does not answer, and for partitions that lack a
   * leader or a replica.
   */
  warnings(): string[];
  close(): void;
}

const LOOK_MS = 3_000;
/** Largest number of partitions that one warning names. */
const NAMED_MAX = 12;

/**
 * Starts to check regularly which brokers answer and which partitions lack a leader or a replica.
 */
export function monitorTopicHealth({
  clients,
  topics,
  everyMs = LOOK_MS,
}: TopicHealthOptions): TopicHealth {
  const admin = clients.admin();
  let lacking: string[] = [];
  let isLooking = false;

  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    try {
      lacking = await lackingOf(admin, topics());
    } catch {
      // Without an answer the last result is out of date.
      lacking = [];
    }
    isLooking = false;
  }

  const timer = setInterval(() => void look(), everyMs);
  return {
    warnings: () => [
      ...clients.unresponsiveBrokers().map((address) => `Broker ${address} does not answer`),
      ...lacking,
    ],
    close: () => clearInterval(timer),
  };
}

async function lackingOf(
  admin: Admin,
  topics: readonly Pick<TopicSettings, "name" | "replicas">[],
): Promise<string[]> {
  const names = topics.map(({ name }) => name);
  const found = await admin.metadata({ topics: names });
  return topics.flatMap(({ name, replicas }) => lackingIn(found, name, majorityOf(replicas)));
}

/**
 * Returns sentences about a topic's partitions that lack a leader or replicas. Each such partition
 * is in one sentence, for its worst problem.
 */
function lackingIn(found: ClusterMetadata, name: string, leastCopies: number): string[] {
  const lacks = { leader: [] as number[], write: [] as number[], copy: [] as number[] };
  const away = new Set<number>();
  for (const [partition, it] of found.topics.get(name)?.partitions.entries() ?? []) {
    const copies = it.replicas.filter((broker) => it.isr.includes(broker));
    if (it.leader < 0) lacks.leader.push(partition);
    else if (copies.length < leastCopies) lacks.write.push(partition);
    else if (copies.length < it.replicas.length) lacks.copy.push(partition);
    for (const broker of it.replicas) if (!it.isr.includes(broker)) away.add(broker);
  }
  const brokers = `${away.size === 1 ? "broker" : "brokers"} ${listed([...away])}`;
  const sentences = {
    leader: `has no leader, and is neither read nor written, without ${brokers}`,
    write: `has fewer than ${leastCopies} copies in sync, and is not written, without ${brokers}`,
    copy: `lacks copies on ${brokers}`,
  };
  return (["leader", "write", "copy"] as const).flatMap((lack) =>
    lacks[lack].length === 0
      ? []
      : `${name} ${sentences[lack]}, in partitions ${listed(lacks[lack])}`,
  );
}

function listed(numbers: readonly number[]): string {
  const named = numbers.toSorted((a, b) => a - b).slice(0, NAMED_MAX);
  const more = numbers.length - named.length;
  return named.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
