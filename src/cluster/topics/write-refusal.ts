import type { WriteRefusal } from "../../kafka/idempotent-producer.ts";

/** Clauses about the leader of a partition, by the error code with which it refuses a batch. */
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
 * Returns a clause that says why a batch is not written: no leader is known, no broker gave the
 * producer its id, or the broker that the batch was sent to fails. If `error` has no code of a
 * broker, the clause says that this broker does not answer.
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

const UNKNOWN: ReadonlySet<string> = new Set(["UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID"]);

/** Returns the name of the first broker error code in an error or its causes, if there is any. */
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
