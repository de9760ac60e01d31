import type {
  Group,
  GroupPartitionsAssigner,
  GroupPartitionsAssignments,
} from "@platformatic/kafka";
import { isObject } from "../../is-object.ts";
import { assignPartitions } from "./partition-assignment.ts";
import type { RefusedPartitions } from "./partition-release.ts";

/**
 * Description that a node sends when it joins the group, and that all members of the group read.
 */
export interface NodeInfo {
  id: string;
  version: string;
  controlPlaneUrl: string;
}

export interface ClusterNode extends NodeInfo {
  /** Numbers of the partitions assigned to the node, in ascending order. */
  partitions: number[];
  /** Partitions that the node refused when it last joined, with the reasons. */
  refused: RefusedPartitions[];
}

/**
 * Metadata that a member sends when it joins the group. Members of an older release send only the
 * fields of `NodeInfo`.
 */
export interface Introduction extends NodeInfo {
  /** Partitions that the member refuses, with the reasons why it cannot process them. */
  refused?: RefusedPartitions[];
  /** Numbers of the partitions that the member can run. */
  canRun?: readonly number[] | undefined;
  /**
   * Number of reports that the member has made on the partitions that it refuses. Each report
   * raises the number, so that no two joins have the same metadata: brokers ignore a join with
   * unchanged metadata.
   */
  reports?: number;
}

type Metadata = Buffer | string | null | undefined;

/**
 * Returns the nodes that are members of the group, sorted by id. `group` is the brokers'
 * description of the group. Leaves out members that have not finished joining or are not nodes of
 * pixelmill.
 */
function nodesOf(group: Group | undefined, topic: string): ClusterNode[] {
  const nodes = [...(group?.members.values() ?? [])].flatMap(({ metadata, assignments }) => {
    const introduction = introductionOf(metadata?.metadata);
    if (introduction === undefined) return [];
    const { id, version, controlPlaneUrl, refused = [] } = introduction;
    const assigned = assignments?.get(topic)?.partitions ?? [];
    const partitions = assigned.toSorted((a, b) => a - b);
    return [{ id, version, controlPlaneUrl, partitions, refused }];
  });
  return nodes.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/**
 * Remembers the nodes in the brokers' last description of the group. While members join, the
 * brokers' descriptions contain no nodes. Callers then get the remembered nodes.
 */
export class DescribedNodes {
  #last: ClusterNode[] | undefined;

  /**
   * Returns the nodes in `group`, the brokers' newest description of the group; none if `group` is
   * undefined. If the description has members but no nodes yet, returns the previous result, or
   * `undefined` without one.
   */
  take(group: Group | undefined, topic: string): ClusterNode[] | undefined {
    const nodes = nodesOf(group, topic);
    const isJoining = nodes.length === 0 && (group?.members.size ?? 0) > 0;
    if (!isJoining) this.#last = nodes;
    return this.#last;
  }
}

/**
 * Reads the introduction in a member's metadata. Undefined for a member that is not a node of
 * pixelmill.
 */
function introductionOf(metadata: Metadata): Introduction | undefined {
  try {
    const found: unknown = JSON.parse(metadata?.toString() ?? "");
    return isIntroduction(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

function isIntroduction(value: unknown): value is Introduction {
  if (!isObject(value)) return false;
  const { id, version, controlPlaneUrl, refused = [], canRun = [] } = value;
  if (!Array.isArray(refused) || !Array.isArray(canRun)) return false;
  const isNamed = [id, version, controlPlaneUrl].every((it) => typeof it === "string");
  return isNamed && refused.every((it) => isObject(it) && Array.isArray(it.partitions));
}

/**
 * Computes the partitions that each group member runs, in the Kafka library's form. A member that
 * is not a node of pixelmill, such as a consumer of another program, gets none.
 */
export function assignToMembers(
  joined: Parameters<GroupPartitionsAssigner>[1],
  topic: string,
  { topics }: Parameters<GroupPartitionsAssigner>[3],
): GroupPartitionsAssignments[] {
  const { partitions = [] } = topics.get(topic) ?? {};
  const holders = [...joined.values()].flatMap((member) => {
    const { memberId, generationId, ownedPartitions, metadata } = member;
    const introduction = introductionOf(metadata);
    if (introduction === undefined) return [];
    const { refused = [], canRun } = introduction;
    return {
      id: memberId,
      generation: generationId ?? -1,
      held: ownedPartitions?.find((it) => it.topic === topic)?.partitions ?? [],
      refused: new Set(refused.flatMap((it) => it.partitions)),
      ...(canRun && { canRun: new Set(canRun) }),
    };
  });
  // Kafka makes the first replica the leader again whenever it is in sync.
  const brokerOf = (partition: number) => partitions[partition]?.replicas[0];
  const assigned = assignPartitions(holders, partitions.length, brokerOf);
  return [...joined.keys()].map((memberId) => ({
    memberId,
    assignments: new Map([[topic, { topic, partitions: assigned.get(memberId) ?? [] }]]),
  }));
}
