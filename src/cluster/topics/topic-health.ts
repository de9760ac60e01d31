import type { KafkaClients } from "../../kafka/client.ts";
import type { ClusterView } from "../../kafka/cluster-view.ts";
import type { ForeignBroker, OutdatedBroker } from "../../kafka/leader-epochs.ts";
import { CONSEQUENCE } from "../../observe/consequence.ts";
import { majorityOf } from "./ensure-topic.ts";
import { nameNumbers } from "./number-list.ts";

/** Kafka topic that the cluster uses. */
export interface NeededTopic {
  name: string;
  /** Number of brokers that must store a copy of each partition. */
  replicas: number;
  /** Whether a node counts as not ready (see `/ready`) while it cannot read the topic. */
  isVital: boolean;
  /** Clause that says what an operator must do if the topic was deleted. */
  remedy: string;
}

/**
 * Part of the `ClusterView` (this node's view of the brokers and topics) from which the health of
 * brokers and topics is judged.
 */
type JudgedView = Pick<ClusterView, "topic" | "nameOf" | "wasListed" | "addressOfBroker">;

export interface TopicHealthOptions {
  clients: Pick<KafkaClients, "unresponsiveBrokers" | "outdatedBrokers" | "foreignBrokers"> & {
    view: JudgedView;
  };
  /** Returns the topics whose health is judged. */
  topics(): NeededTopic[];
}

/**
 * Milliseconds for which a broker's metadata must contradict the other brokers' metadata before a
 * warning names the broker. Shorter contradictions are normal, because brokers hear of a new leader
 * one after another.
 */
const OUTDATED_MS_MIN = 3_000;
/**
 * Milliseconds for which a broker must be silent before a warning names it. On a loaded machine,
 * healthy brokers take a second or two to answer a probe.
 */
const SILENT_MS_MIN = 3_000;

/** Returns the first clause of a warning about a silent broker; other clauses may follow. */
export const noAnswerOf = (broker: string) => `${broker} does not answer`;

const hostOf = (address: string) => address.slice(0, address.lastIndexOf(":"));

type Row = [address: string, sentences: string[]];

/** Kafka's error codes for an unknown topic name and an unknown topic id. */
const UNKNOWN_TOPICS: ReadonlySet<number> = new Set([3, 100]);
/** Kafka's error code for a topic that the brokers do not let this node read. */
const FORBIDDEN = 29;

/**
 * Returns functions that describe faults of the brokers and of the topics' partitions and replicas,
 * according to the brokers' last answers.
 */
export function judgeTopics({ clients, topics }: TopicHealthOptions) {
  const { view } = clients;
  /**
   * Returns a map of sentences about brokers, by broker address. The map has an entry for each
   * broker that does not answer, contradicts the other brokers' metadata, or belongs to another
   * Kafka cluster.
   */
  const rowsOfBrokers = () => {
    const outdated = clients.outdatedBrokers().filter(({ forMs }) => forMs >= OUTDATED_MS_MIN);
    const silent = clients.unresponsiveBrokers(SILENT_MS_MIN);
    const listed = silent.filter((it) => view.wasListed(it));
    const rows = new Map<string, string[]>([
      ...outdated.map((it): Row => [it.address, [describeOutdated(it, view)]]),
      ...clients.foreignBrokers().map((it): Row => [it.address, [describeForeign(it)]]),
      ...(listed.length > 0 ? listed : silent).map(
        (address): Row => [address, [noAnswerOf(view.nameOf(address))]],
      ),
    ]);
    // A silent address at which no broker is listed counts as a further address of a listed
    // broker: of the one on the same host, if there is one.
    for (const address of silent.filter((it) => !rows.has(it))) {
      const other = listed.find((it) => hostOf(it) === hostOf(address)) ?? listed[0]!;
      rows.get(other)!.push(`nor does ${address}, at which no broker is listed`);
    }
    return rows;
  };
  return {
    /**
     * Returns a text for each broker that does not answer, contradicts the other brokers' metadata,
     * belongs to another Kafka cluster, or has replicas out of sync. `consequences` are clauses
     * that say what this node cannot do. The text about the first silent broker includes them; if
     * all brokers answer, each clause is a text of its own.
     */
    warnings(consequences: readonly string[] = []): string[] {
      const rows = rowsOfBrokers();
      for (const { away, isLeaderless, clauses } of lacksByBrokers(topics(), view)) {
        const addresses = away.flatMap((id) => view.addressOfBroker(id) ?? []);
        const address = addresses.find((it) => rows.has(it)) ?? addresses.join();
        const row = rows.getOrInsertComputed(address, () => [
          describeAway(away, isLeaderless, view),
        ]);
        row.push(...clauses);
      }
      const silent = clients.unresponsiveBrokers(SILENT_MS_MIN).find((it) => rows.has(it));
      if (silent !== undefined) rows.get(silent)!.push(...consequences);
      const sentences = [...rows.values()].map((row) => row.join(CONSEQUENCE));
      return silent === undefined ? [...sentences, ...consequences] : sentences;
    },
    /**
     * Returns a sentence for each topic that does not exist, or for which the brokers answer this
     * node with an error. Checks only the topics whose `isVital` equals the parameter.
     */
    missing(isVital: boolean): string[] {
      return topics()
        .filter((it) => it.isVital === isVital)
        .flatMap((it) => describeMissing(it, view) ?? []);
    },
  };
}

function describeMissing({ name, remedy }: NeededTopic, view: JudgedView): string | undefined {
  const found = view.topic(name);
  if (found === undefined || !("errorCode" in found)) return undefined;
  if (UNKNOWN_TOPICS.has(found.errorCode)) return `The topic ${name} does not exist: ${remedy}`;
  return found.errorCode === FORBIDDEN
    ? `The brokers deny this node the right to read the topic ${name}`
    : `The brokers answer for the topic ${name} with error ${found.errorCode}`;
}

const describeForeign = ({ address, clusterId }: ForeignBroker) =>
  `Broker ${address} belongs to another Kafka cluster, ${clusterId}, and is not used: name only brokers of one cluster in cluster.kafka`;

/** Returns a sentence that says how a broker's metadata contradicts that of the other brokers. */
function describeOutdated({ address, isListed, partitions }: OutdatedBroker, view: JudgedView) {
  if (partitions.length === 0) {
    return `${view.nameOf(address)} answers, but the other brokers do not list it: check its network to them`;
  }
  const groups = Map.groupBy(partitions, ({ topic, named = "no leader", latest = "no leader" }) => {
    return `${named} and not ${latest} for ${topic}`;
  });
  const claims = [...groups].map(([claim, of]) => {
    return `${claim} ${nameNumbers(of.map(({ partition }) => partition))}`;
  });
  const also = isListed ? "" : " and they do not list it";
  return `${view.nameOf(address)} disagrees with the other brokers on who leads${also}, it names ${claims.join(", ")}: check its network to them`;
}

interface Lacks {
  /**
   * Ids of the brokers that must start or catch up. Until then, the partitions in `leader`, `write`
   * and `copy` lack a leader or copies.
   */
  away: number[];
  /** Lack of a leader: the numbers of the partitions without a leader, by topic name. */
  leader: Map<string, number[]>;
  /** Numbers of the partitions that have a leader, but too few copies in sync to be written. */
  write: Map<string, number[]>;
  /** Numbers of the partitions that can be written, but lack some copies. */
  copy: Map<string, number[]>;
}

/**
 * Finds the partitions that lack a leader or have a replica out of sync, grouped by the brokers
 * that must start or catch up. `away` has the ids of these brokers. `clauses` say what the
 * partitions lack, missing leaders first.
 */
function lacksByBrokers(topics: readonly NeededTopic[], view: JudgedView) {
  const all = new Map<string, Lacks>();
  for (const { name, replicas } of topics) {
    const found = view.topic(name);
    // Without an answer nothing is known about the topic.
    if (found === undefined || "errorCode" in found) continue;
    for (const [partition, it] of found.partitions.entries()) {
      const copies = it.replicas.filter((broker) => it.isr.includes(broker));
      if (it.leader >= 0 && copies.length === it.replicas.length) continue;
      const missing = it.replicas.filter((broker) => !it.isr.includes(broker));
      // A partition without a leader waits for the brokers that could lead it: those with a copy
      // in sync, or else all that have a copy.
      const leaders = copies.length > 0 ? copies : it.replicas;
      const away = (it.leader < 0 ? leaders : missing).toSorted((a, b) => a - b);
      const none = { leader: new Map(), write: new Map(), copy: new Map() };
      const lacks = all.getOrInsert(away.join(), { away, ...none });
      const isWritten = copies.length >= majorityOf(replicas);
      const lack = it.leader < 0 ? "leader" : isWritten ? "copy" : "write";
      lacks[lack].getOrInsert(name, []).push(partition);
    }
  }
  const clausesOf = ({ leader, write, copy }: Lacks) => [
    ...[...leader].map(([name, of]) => {
      return `${name} has no leader, and is neither read nor written, in partitions ${nameNumbers(of)}`;
    }),
    ...[...write].map(([name, of]) => {
      return `${name} has too few copies in sync, and is not written, in partitions ${nameNumbers(of)}`;
    }),
    ...(copy.size > 0 ? [`copies are missing of ${[...copy.keys()].join(", ")}`] : []),
  ];
  return [...all.values()].map((it) => {
    return { away: it.away, isLeaderless: it.leader.size > 0, clauses: clausesOf(it) };
  });
}

/**
 * Returns a sentence about the brokers `away`, which must catch up with some partitions. With
 * `isLeaderless`, they must also lead some, or only this: their copies may be in sync.
 */
function describeAway(away: readonly number[], isLeaderless: boolean, view: JudgedView) {
  const names = away.map((id) => {
    const address = view.addressOfBroker(id);
    return address === undefined ? `Broker ${id}` : view.nameOf(address);
  });
  const state = isLeaderless ? "unavailable or not in sync" : "not in sync";
  return `${names.join(" and ")} ${away.length === 1 ? "is" : "are"} ${state}`;
}
