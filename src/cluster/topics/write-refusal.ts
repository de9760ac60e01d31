import type { WriteRefusal } from "../../kafka/idempotent-producer.ts";
import { nameNumbers } from "./number-list.ts";

/**
 * Clauses that explain why a broker refused a batch, by Kafka's error code. The subject of each
 * clause is the broker.
 */
const REASONS: Readonly<Record<string, string>> = {
  NOT_ENOUGH_REPLICAS: "has too few replicas in sync",
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: "has too few replicas in sync",
  REQUEST_TIMED_OUT: "does not get the acknowledgement of its replicas",
  NOT_LEADER_OR_FOLLOWER: "answers that it does not lead",
  FENCED_LEADER_EPOCH: "answers that it does not lead",
  UNKNOWN_TOPIC_OR_PARTITION: "answers that the topic does not exist",
  UNKNOWN_TOPIC_ID: "answers that the topic does not exist",
  KAFKA_STORAGE_ERROR: "cannot write its disk",
  TOPIC_AUTHORIZATION_FAILED: "denies this node the right to write",
  CLUSTER_AUTHORIZATION_FAILED: "denies this node the right to write",
};

/**
 * Returns a clause that says why a batch was not written: no leader is known, no broker gave this
 * node a producer id, or the broker refused the batch or did not answer.
 */
export function describeWriteRefusal({ leader, broker, error }: WriteRefusal): string {
  const code = apiIdOf(error);
  if (leader === undefined) {
    return code !== undefined && UNKNOWN.has(code)
      ? "the brokers answer that the topic does not exist"
      : "no broker that answers names a leader";
  }
  if (broker === undefined && error !== undefined) {
    const answer = code === undefined ? "" : `, they answer ${code}`;
    return `the brokers give this node no producer id${answer}`;
  }
  const reason =
    code === undefined ? "does not answer this node" : (REASONS[code] ?? `answers ${code}`);
  const named = broker ?? leader;
  return `broker ${named}, which ${named === leader ? "leads" : "led before"}, ${reason}`;
}

/** A partition that does not accept records, and why. */
export interface PartitionFault extends WriteRefusal {
  partition: number;
}

/** Returns one sentence per cause, with the partitions that accept no records because of it. */
export function describePartitionFaults(
  topic: string,
  faults: readonly PartitionFault[],
): string[] {
  const groups = Map.groupBy(faults, describeWriteRefusal);
  return [...groups].map(([reason, of]) => {
    const partitions = nameNumbers(of.map(({ partition }) => partition));
    const subject = of.length === 1 ? "partition" : "partitions";
    return `${topic} is not written in ${subject} ${partitions}: ${reason}`;
  });
}

const UNKNOWN: ReadonlySet<string> = new Set(["UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID"]);

/**
 * Returns the name of Kafka's error code, such as `REQUEST_TIMED_OUT`, that `error` or one of its
 * causes has. Undefined if none has one.
 */
export function apiIdOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { apiId, errors = [], cause } = error as Failure;
  if (apiId !== undefined) return apiId;
  for (const inner of [...errors, cause]) {
    const found = apiIdOf(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}

interface Failure {
  apiId?: string;
  errors?: readonly unknown[];
  cause?: unknown;
}
