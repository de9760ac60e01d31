import type {
  Group,
  GroupPartitionsAssigner,
  GroupPartitionsAssignments,
} from "@platformatic/kafka";
import { assignPartitions } from "./partition-assignment.ts";
import type { RefusedPartitions } from "./partition-release.ts";

/** Description of a node, which it sends when it joins. All members of the group read it. */
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
   * Number of the member's reports of refusals so far. It makes each report's metadata different,
   * because brokers ignore a join with the metadata of the last one.
   */
  reports?: number;
}

type Metadata = Buffer | string | null | undefined;

/**
 * Returns the nodes that are members of the group, sorted by id. `group` is the brokers'
 * description of the group. Leaves out members that have not finished joining.
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
 * The group's members as the brokers last described them. While members join, the brokers describe
 * none of them.
 */
export class DescribedNodes {
  #last: ClusterNode[] | undefined;

  /**
   * Takes the brokers' newest description of the group. Returns its members, or those of the last
   * description while members join. Returns undefined if there is none.
   */
  take(group: Group | undefined, topic: string): ClusterNode[] | undefined {
    const nodes = nodesOf(group, topic);
    const isJoining = nodes.length === 0 && (group?.members.size ?? 0) > 0;
    if (!isJoining) this.#last = nodes;
    return this.#last;
  }
}

function introductionOf(metadata: Metadata): Introduction | undefined {
  const text = metadata?.toString();
  return text ? (JSON.parse(text) as Introduction) : undefined;
}

/** Computes the partitions that each group member runs, in the Kafka library's form. */
export function assignToMembers(
  joined: Parameters<GroupPartitionsAssigner>[1],
  topic: string,
  { topics }: Parameters<GroupPartitionsAssigner>[3],
): GroupPartitionsAssignments[] {
  const { partitions = [] } = topics.get(topic) ?? {};
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
  // Kafka makes the first replica the leader again whenever it is in sync.
  const brokerOf = (partition: number) => partitions[partition]?.replicas[0];
  return [...assignPartitions(holders, partitions.length, brokerOf)].map(([memberId, own]) => ({
    memberId,
    assignments: new Map([[topic, { topic, partitions: own }]]),
  }));
}
