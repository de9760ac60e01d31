import type { KafkaClients } from "../../kafka/client.ts";
import { addressOf, type ClusterView } from "../../kafka/cluster-view.ts";

/**
 * Whether this process can read and write a partition, according to the metadata from the brokers
 * that answer this process.
 */
export type PartitionAccess =
  /** The leader answers, and enough replicas are in sync. */
  | { state: "available" }
  /** The partition's leader, such as `Broker 2 (host:port)`, does not answer this process. */
  | { state: "unreachable"; leader: string }
  /** No process can write the partition: it has no leader, or too few replicas are in sync. */
  | { state: "unavailable" };

/**
 * Returns this process's access to each partition of a topic. The array is empty for an unknown
 * topic. `unresponsive` has the addresses of the brokers that do not answer this process.
 */
export function partitionAccess(
  view: Pick<ClusterView, "topic" | "brokers" | "nameOf">,
  unresponsive: ReadonlySet<string>,
  topic: string,
): PartitionAccess[] {
  const found = view.topic(topic);
  if (found === undefined || "errorCode" in found) return [];
  return found.partitions.map(({ leader, isr, replicas }) => {
    const broker = view.brokers.get(leader);
    const majority = Math.floor(replicas.length / 2) + 1;
    if (broker === undefined || isr.length < majority) return { state: "unavailable" };
    const address = addressOf(broker);
    if (unresponsive.has(address)) return { state: "unreachable", leader: view.nameOf(address) };
    return { state: "available" };
  });
}

/**
 * Returns a function that takes the name of a topic, such as `events`, and returns this process's
 * access to each partition. A partition is unreachable once its leader has not answered for
 * `silentMs` milliseconds.
 */
export const accessOf =
  (clients: Pick<KafkaClients, "view" | "unresponsiveBrokers">, cluster: string) =>
  (name: string, silentMs: number) => {
    const silent = new Set(clients.unresponsiveBrokers(silentMs));
    return partitionAccess(clients.view, silent, `${cluster}.${name}`);
  };
