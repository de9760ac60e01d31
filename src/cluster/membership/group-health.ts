import { REQUEST_MS_MAX } from "../../kafka/client.ts";
import type { Judgement } from "../topics/troubles.ts";
import { apiIdOf } from "../topics/write-refusal.ts";

/** Facts about this node's membership in the Kafka consumer group of the cluster. */
export interface GroupFacts {
  group: string;
  isMember: boolean;
  /** Whether this node has been a member of the consumer group at any time since it started. */
  hasJoined: boolean;
  /**
   * Error of the last attempt to join the consumer group. Undefined if the attempt succeeded, or if
   * no attempt has ended yet.
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
   * Whether partitions run on this node at present. After the group has removed the node, they
   * still run until the node has stopped them.
   */
  runsPartitions: boolean;
}

/**
 * Judges this node's membership in the group. Trouble makes the node not ready; a warning does not.
 * - No broker answers: trouble after `REQUEST_MS_MAX`, and no warnings. The other cases then do not
 *   apply.
 * - The coordinator refuses a node that has never been a member since its start: trouble.
 * - The coordinator has been silent for `silentMsMax`: a warning.
 * - The group has removed the node: a warning.
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
