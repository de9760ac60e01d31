import type { ApiDeps, ClusterFigures } from "../../deps.ts";
import type { NodeHealth, StatusDeps } from "./local-status.ts";
import { answerLocally, mergeMessages } from "./node-status.ts";

type ClusterNode = NonNullable<ClusterFigures["nodes"]>[number];

/** Facts about a cluster's nodes, from which its problems are derived. */
interface ClusterFacts {
  name: string;
  /**
   * Nodes in the cluster's Kafka consumer group. This list is undefined if the group's coordinator
   * does not answer, or if nodes are joining and this node has not read the members before.
   */
  members: readonly ClusterNode[] | undefined;
  partitions: ClusterFigures["partitions"];
  /** Health of the nodes that answered, this node included, by node id. */
  health: ReadonlyMap<string, NodeHealth>;
  /** Ids of the nodes from which a message of any kind has arrived recently. */
  heard: ReadonlySet<string>;
  /** Sentence about why this node's questions do not reach other nodes. Undefined if they do. */
  unasked: string | undefined;
}

/** Returns the nodes and the partitions of a cluster, and its problems. */
export async function clusterStatus(deps: StatusDeps & Pick<ApiDeps, "nodes">) {
  const { nodes, others } = deps;
  if (nodes === undefined || others === undefined) {
    return { nodes: [], partitions: [], problems: [] };
  }
  // While questions do not reach the nodes, no answer comes, and waiting is useless.
  const isAskable = others.trouble?.() === undefined;
  const [{ nodes: members, ...figures }, answers] = await Promise.all([
    nodes(),
    isAskable ? others.ask(["health"]).then((it) => it.answers) : new Map<string, unknown>(),
  ]);
  const health = new Map([...(answers as ReadonlyMap<string, NodeHealth>)]);
  health.set(others.node, answerLocally(deps, ["health"]) as NodeHealth);
  const reasons = new Map(
    health.values().flatMap(({ stopped = [] }) => stopped.map((it) => [it.partition, it.reason])),
  );
  const partitions = figures.partitions.map((it) => {
    const stopped = reasons.get(it.partition);
    return stopped === undefined ? it : { ...it, stopped };
  });
  const { name } = figures;
  const unasked = others.trouble?.();
  const shown = (members ?? []).map((member) => nodeAnswer(member, health.get(member.id)));
  const heard = others.heard?.() ?? new Set();
  const problems = problemsOf({ name, members, partitions, health, heard, unasked });
  return { ...figures, partitions, nodes: shown, problems };
}

function nodeAnswer({ refused = [], ...member }: ClusterNode, health: NodeHealth | undefined) {
  const refusals = refused.map(({ reason, partitions }) => {
    return `This node leaves partitions ${partitions.join(", ")} to others: ${reason}`;
  });
  const { troubles, warnings } = mergeMessages(new Map(health && [[member.id, health]]));
  const problems = [...troubles, ...warnings, ...refusals];
  return { ...member, answers: health !== undefined, problems };
}

/**
 * Returns the problems of a cluster, one sentence each. Nodes that do not answer and partitions
 * that run at no node are listed only if the cluster's members are known and this node can ask
 * them.
 */
export function problemsOf(facts: ClusterFacts): string[] {
  const { name, members, partitions, health, heard, unasked } = facts;
  const { troubles, warnings } = mergeMessages(health);
  const unanswered = (members ?? []).filter(({ id }) => !health.has(id));
  const silent = unanswered.filter(({ id }) => !heard.has(id));
  const late = unanswered.filter(({ id }) => heard.has(id));
  const canJudge = members !== undefined && unasked === undefined;
  return [
    ...(members === undefined
      ? [`The coordinator of the group ${name} does not say who its members are`]
      : []),
    ...(unasked === undefined ? [] : [unasked]),
    ...(canJudge ? silent.map(({ id }) => `Node ${id} does not answer`) : []),
    ...(canJudge && late.length > 0 ? [describeLate(late)] : []),
    ...(canJudge ? partitionsWithoutNode(partitions, members, health) : []),
    ...mixedVersions(members ?? []),
    ...troubles,
    ...warnings,
  ];
}

/**
 * Returns a sentence about nodes that send messages, but whose answers to this node's questions
 * came too late, for example because a broker is far away.
 */
function describeLate(late: readonly ClusterNode[]): string {
  const ids = late.map(({ id }) => id).join(", ");
  const which =
    late.length === 1 ? `The report of node ${ids} is` : `The reports of nodes ${ids} are`;
  return `${which} missing here: an answer over the brokers takes too long`;
}

/** Returns sentences about the partitions whose events no running node delivers. */
function partitionsWithoutNode(
  partitions: ClusterFigures["partitions"],
  members: readonly ClusterNode[],
  health: ClusterFacts["health"],
): string[] {
  const present = new Set([...members.map(({ id }) => id), ...health.keys()]);
  const running = new Set([...health.values()].flatMap((node) => node.running ?? []));
  const isSilent = ({ id }: ClusterNode) => health.get(id)?.running === undefined;
  // A member whose partitions are unknown may run one that its ledger does not name yet.
  const mayRun = new Set(members.filter(isSilent).flatMap((member) => member.partitions));
  const left = partitions.filter(
    ({ partition, node = "" }) =>
      !present.has(node) && !running.has(partition) && !mayRun.has(partition),
  );
  return [...Map.groupBy(left, ({ node }) => node)].map(([node, of]) => {
    const numbers = of.map(({ partition }) => partition).join(", ");
    const which =
      of.length === 1
        ? `Partition ${numbers} runs at no node`
        : `Partitions ${numbers} run at no node`;
    return node === undefined ? which : `${which}: the last was ${node}`;
  });
}

function mixedVersions(members: readonly ClusterNode[]): string[] {
  const versions = [...new Set(members.map(({ version }) => version))].sort();
  return versions.length > 1 ? [`Nodes run versions ${versions.join(" and ")}`] : [];
}
