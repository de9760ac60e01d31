import type { ApiDeps, ClusterFigures } from "../../deps.ts";
import { answerLocally, mergeMessages, type NodeHealth, type StatusDeps } from "./node-status.ts";

type ClusterNode = NonNullable<ClusterFigures["nodes"]>[number];

/**
 * Returns the nodes and partitions of a cluster, with the problems of the cluster and of its nodes.
 */
export async function clusterStatus(deps: StatusDeps & Pick<ApiDeps, "nodes">) {
  const { nodes, others } = deps;
  if (nodes === undefined || others === undefined) {
    return { nodes: [], partitions: [], problems: [] };
  }
  const [{ nodes: members, ...figures }, { answers }] = await Promise.all([
    nodes(),
    others.ask(["health"]),
  ]);
  const told = new Map([...(answers as ReadonlyMap<string, NodeHealth>)]);
  told.set(others.node, answerLocally(deps, ["health"]) as NodeHealth);
  const shown = (members ?? []).map((member) => nodeAnswer(member, told.get(member.id)));
  const problems = [
    ...(members === undefined ? ["The brokers do not name the nodes"] : []),
    ...shown.filter(({ answers }) => !answers).map(({ id }) => `Node ${id} does not answer`),
    ...(members === undefined ? [] : partitionsWithoutNode(figures.partitions, members)),
    ...mixedVersions(members ?? []),
    ...mergeMessages(told, ({ troubles, warnings }) => [...troubles, ...warnings]),
  ];
  return { ...figures, nodes: shown, problems };
}

function nodeAnswer({ refused = [], ...member }: ClusterNode, health: NodeHealth | undefined) {
  const refusals = refused.map(({ reason, partitions }) => {
    return `This node leaves partitions ${partitions.join(", ")} to others: ${reason}`;
  });
  const problems = [...(health?.troubles ?? []), ...(health?.warnings ?? []), ...refusals];
  return { ...member, answers: health !== undefined, problems };
}

/** Returns a problem message about the partitions whose events no running node delivers. */
function partitionsWithoutNode(
  partitions: ClusterFigures["partitions"],
  members: readonly ClusterNode[],
): string[] {
  const there = new Set(members.map(({ id }) => id));
  const left = partitions.filter(({ node = "" }) => !there.has(node));
  return [...Map.groupBy(left, ({ node }) => node)].map(([node, of]) => {
    const which = `Partitions ${of.map(({ partition }) => partition).join(", ")} run at no node`;
    return node === undefined ? which : `${which}: the last was ${node}`;
  });
}

function mixedVersions(members: readonly ClusterNode[]): string[] {
  const versions = [...new Set(members.map(({ version }) => version))].sort();
  return versions.length > 1 ? [`Nodes run versions ${versions.join(" and ")}`] : [];
}
