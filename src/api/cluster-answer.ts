import { type Health, ownAnswer, type Parts, toldOnce } from "./activity.ts";
import type { ApiParts, ClusterFigures } from "./parts.ts";

type Node = NonNullable<ClusterFigures["nodes"]>[number];

/** How the nodes of a cluster are, as all of them tell. */
export async function clusterOf(parts: Parts & Pick<ApiParts, "nodes">) {
  const { nodes, others } = parts;
  if (nodes === undefined || others === undefined) {
    return { nodes: [], partitions: [], problems: [] };
  }
  const [{ nodes: members, ...figures }, { answers }] = await Promise.all([
    nodes(),
    others.ask(["health"]),
  ]);
  const told = new Map([...(answers as ReadonlyMap<string, Health>)]);
  told.set(others.node, ownAnswer(parts, ["health"]) as Health);
  const shown = (members ?? []).map((member) => shownNode(member, told.get(member.id)));
  const problems = [
    ...(members === undefined ? ["The brokers do not name the nodes"] : []),
    ...shown.filter(({ answers }) => !answers).map(({ id }) => `Node ${id} does not answer`),
    ...(members === undefined ? [] : unrun(figures.partitions, members)),
    ...mixture(members ?? []),
    ...toldOnce(told, ({ troubles, warnings }) => [...troubles, ...warnings]),
  ];
  return { ...figures, nodes: shown, problems };
}

function shownNode(member: Node, health: Health | undefined) {
  const problems = [...(health?.troubles ?? []), ...(health?.warnings ?? [])];
  return { ...member, answers: health !== undefined, problems };
}

/** Partitions whose lanes run at no node that is there. */
function unrun(partitions: ClusterFigures["partitions"], members: readonly Node[]): string[] {
  const there = new Set(members.map(({ id }) => id));
  const left = partitions.filter(({ node = "" }) => !there.has(node));
  return [...Map.groupBy(left, ({ node }) => node)].map(([node, of]) => {
    const which = `Partitions ${of.map(({ partition }) => partition).join(", ")} run at no node`;
    return node === undefined ? which : `${which} that is there: the last was ${node}`;
  });
}

function mixture(members: readonly Node[]): string[] {
  const versions = [...new Set(members.map(({ version }) => version))].sort();
  return versions.length > 1 ? [`Nodes run versions ${versions.join(" and ")}`] : [];
}
