import { REQUEST_MS_MAX } from "../../kafka/client.ts";
import type { Judgement } from "../topics/troubles.ts";
import { apiIdOf } from "../topics/write-refusal.ts";

/** Facts about this node's membership in the Kafka consumer group of the cluster. */
export interface GroupFacts {
  group: string;
  isMember: boolean;
  /** Whether this node has been a member of the group at any time since it started. */
  hasJoined: boolean;
  /**
   * Error of the last attempt to join the group. Undefined if the attempt succeeded, or if no
   * attempt has ended yet.
   */
  joinError: unknown;
  /** Milliseconds since the last answer of the group's coordinator (a broker). */
  silentMs: number;
  /**
   * Milliseconds without an answer after which the group's coordinator (a broker) counts as silent.
   */
  silentMsMax: number;
  /**
   * Whether at least one broker answers requests for metadata. The group's coordinator may be
   * silent nevertheless.
   */
  isAnyResponsive: boolean;
  /**
   * Whether partitions still run on this node. A node that the group removed stops its partitions.
   */
  runsPartitions: boolean;
}

/**
 * Judges the membership of a node. Silence of the coordinator alone is a warning, because the node
 * accepts pixels and requests without it. A node that has not been able to join the group since its
 * start has trouble, so that an upgrade stops before the next node. While no broker answers, the
 * result has no warnings, and it has trouble once the brokers have been silent for long enough.
 */
export function judgeGroup(facts: GroupFacts): Judgement {
  const { group, isMember, hasJoined, joinError, silentMs, isAnyResponsive } = facts;
  // Without any broker, requests fail as soon as they have waited for an answer.
  const isSilent = silentMs > (isAnyResponsive ? facts.silentMsMax : REQUEST_MS_MAX);
  const time = `for ${Math.round(silentMs / 1_000)} s`;
  if (!isAnyResponsive) {
    return { trouble: isSilent ? `No broker has answered ${time}` : undefined, warnings: [] };
  }
  const answer = hasJoined ? undefined : apiIdOf(joinError);
  const trouble =
    answer && `This node cannot join the group ${group}: its coordinator answers ${answer}`;
  const warnings: string[] = [];
  if (isSilent) warnings.push(`The coordinator of the group ${group} has not answered ${time}`);
  if (hasJoined && !isMember) {
    const what = facts.runsPartitions ? "stops its partitions" : "runs no partition";
    warnings.push(`This node is not in the group ${group} at present, and ${what}`);
  }
  return { trouble, warnings };
}
