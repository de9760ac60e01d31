import type {
  Group,
  GroupPartitionsAssigner,
  GroupPartitionsAssignments,
} from "@platformatic/kafka";
import { assignPartitions } from "./partition-assignment.ts";
import type { RefusedPartitions } from "./partition-release.ts";

/** Description of a cluster node, which all members of the group can read. */
export interface NodeInfo {
  id: string;
  version: string;
  controlPlaneUrl: string;
}

export interface ClusterNode extends NodeInfo {
  /** Numbers of the partitions assigned to the node, in ascending order. */
  partitions: number[];
  /** Partitions that the node refused when it last joined, because it cannot do their work. */
  refused: RefusedPartitions[];
}

/**
 * Metadata with which a member joins the group. Members of an older version send only a `NodeInfo`.
 */
export interface Introduction extends NodeInfo {
  /** Partitions that the member refuses, because it cannot do their work. */
  refused?: RefusedPartitions[];
  /** Partitions that the member can run. */
  canRun?: readonly number[] | undefined;
  /** Number of joins with which the member has reported about refused partitions. */
  reports?: number;
}

type Metadata = Buffer | string | null | undefined;

/**
 * Returns the nodes of a described group, sorted by id. Members that are still joining are not
 * among them.
 */
export function nodesOf(group: Group | undefined, topic: string): ClusterNode[] {
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

function introductionOf(metadata: Metadata): Introduction | undefined {
  const text = metadata?.toString();
  return text ? (JSON.parse(text) as Introduction) : undefined;
}

/** Divides the partitions of a topic among the members that joined the group. */
export function assignToMembers(
  joined: Parameters<GroupPartitionsAssigner>[1],
  topic: string,
  partitions: number,
): GroupPartitionsAssignments[] {
  const holders = [...joined.values()].map((member) => {
    const { memberId, generationId, ownedPartitions, metadata } = member;
    const { refused = [], canRun } = introductionOf(metadata) ?? {};
    return {
      id: memberId,
      generation: generationId ?? -1,
      held: ownedPartitions?.find((it) => it.topic === topic)?.partitions ?? [],
      refused: new Set(refused.flatMap((it) => it.partitions)),
      ...(canRun && { canRun: new Set(canRun) }),
    };
  });
  return [...assignPartitions(holders, partitions)].map(([memberId, own]) => ({
    memberId,
    assignments: new Map([[topic, { topic, partitions: own }]]),
  }));
}
