import type { Base, ClusterMetadata, ClusterTopicMetadata, Consumer } from "@platformatic/kafka";
import type { KafkaLibrary } from "./library.ts";

/**
 * Makes a group member ask the brokers only for the topics that it tracks itself. The group's
 * leader asks for the topics of all members before it assigns partitions. Without this, a member of
 * another program that subscribed to a missing topic would make each assignment fail. The topics of
 * others have no partitions in the answer.
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
