import type { Base, ClusterMetadata, ClusterTopicMetadata, Consumer } from "@platformatic/kafka";
import type { BrokerHealth } from "./broker-health.ts";
import type { ClusterView, ListedBroker } from "./cluster-view.ts";
import type { KafkaLibrary } from "./library.ts";

/**
 * Makes a client of the Kafka library take its metadata from the view of the cluster that all
 * clients share. By default, a client uses the answer of a single broker, even if other brokers
 * have newer metadata.
 */
export function useClusterView(
  kafka: KafkaLibrary,
  client: Base,
  health: Pick<BrokerHealth, "view" | "refresh">,
): void {
  const { view } = health;
  let isStale = false;
  const metadata: Base[KafkaLibrary["kMetadata"]] = (
    { topics = [], forceUpdate, retries },
    callback,
  ) => {
    // A request for no topics wants only the list of brokers, which each probe renews.
    const isForced = (forceUpdate || isStale) && topics.length > 0;
    const known = isForced ? undefined : metadataOf(kafka, view, topics);
    if (known !== undefined && !(known instanceof Error)) {
      callback(null, known);
      return;
    }
    isStale = false;
    client[kafka.kPerformWithRetry]<ClusterMetadata>(
      "metadata",
      (done) => {
        const ask = async () => {
          await health.refresh(topics);
          const found = metadataOf(kafka, view, topics);
          if (found instanceof Error) throw found;
          if (found === undefined) throw new kafka.NetworkError("No broker answers");
          return found;
        };
        ask().then((found) => done(null, found), done);
      },
      (error, found) => {
        if (error && kafka.findErrorBy(error, "apiCode", UNKNOWN_TOPIC))
          callback(new kafka.UserError(`Unknown topic ${topics.join(", ")}.`));
        else if (error) callback(error);
        else callback(null, found!);
      },
      0,
      [],
      undefined,
      typeof retries === "number" ? retries : undefined,
    );
  };
  const clearMetadata = () => {
    isStale = true;
  };
  Object.assign(client, { [kafka.kMetadata]: metadata, clearMetadata });
  Object.defineProperty(client, "currentMetadata", {
    get: () => (view.isEmpty ? undefined : metadataOf(kafka, view, [])),
  });
}

const UNKNOWN_TOPIC = 3;

/**
 * Returns the metadata of the given topics from `view`, or an error if the brokers refuse one of
 * the topics. Returns undefined if no broker answers, or if `view` does not have one of the topics
 * yet.
 */
function metadataOf(
  kafka: KafkaLibrary,
  view: ClusterView,
  topics: readonly string[],
): ClusterMetadata | Error | undefined {
  if (view.isEmpty) return undefined;
  const found = new Map<string, ClusterTopicMetadata>();
  for (const name of topics) {
    const topic = view.topic(name);
    if (topic === undefined) return undefined;
    if ("errorCode" in topic) return new kafka.ProtocolError(topic.errorCode, name);
    found.set(name, topic);
  }
  return {
    id: view.clusterId,
    // The library only reads this object.
    brokers: view.brokers as Map<number, ListedBroker>,
    topics: found,
    controllerId: view.controllerId,
    lastUpdate: Date.now(),
  };
}

/**
 * Makes the leader of a consumer group treat topics that only other members read as topics without
 * partitions. By default, the leader asks the brokers for these topics, and each assignment fails
 * if one of them does not exist.
 */
export function leaveOutForeignTopics(kafka: KafkaLibrary, consumer: Consumer): void {
  const client: Base = consumer;
  const metadataOf = client[kafka.kMetadata].bind(client);
  const metadata: Base[KafkaLibrary["kMetadata"]] = ({ topics = [], ...options }, callback) => {
    const isOwn = (topic: string) => consumer.topics.current.includes(topic);
    const foreign = topics.filter((topic) => !isOwn(topic));
    metadataOf({ ...options, topics: topics.filter(isOwn) }, (error, found) => {
      if (error) callback(error);
      else callback(null, withEmptyTopics(found!, foreign));
    });
  };
  Object.assign(consumer, { [kafka.kMetadata]: metadata });
}

function withEmptyTopics(found: ClusterMetadata, names: readonly string[]): ClusterMetadata {
  const { lastUpdate } = found;
  const empty: ClusterTopicMetadata = { id: "", partitions: [], partitionsCount: 0, lastUpdate };
  const topics = new Map(found.topics);
  for (const name of names) topics.set(name, empty);
  return { ...found, topics };
}
