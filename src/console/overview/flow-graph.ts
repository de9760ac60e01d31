import type { Overview } from "./overview.ts";

type SourceOverview = Overview["sources"][number];
type TransformationOverview = Overview["transformations"][number];
type DestinationOverview = Overview["destinations"][number];

/** In the middle: a transformation, or where events pass as they are. */
export interface TransformationNode {
  id: string;
  transformation: TransformationOverview | undefined;
}

/** From the row of one column to that of the next. */
export interface FlowEdge {
  from: number;
  to: number;
  /** Events per second, and those of them that failed. */
  rate: number;
  failed: number;
  isOff: boolean;
  isDown: boolean;
}

export interface FlowGraph {
  sources: readonly SourceOverview[];
  transformations: readonly TransformationNode[];
  destinations: readonly DestinationOverview[];
  /** Sources to the middle, the middle to destinations. */
  edges: readonly [readonly FlowEdge[], readonly FlowEdge[]];
}

/** Of each column; the rest is in the table below the graph. */
export const ROWS_MAX = 24;
export const PASS_THROUGH = "unchanged";

const statesByUrgency = [
  "down",
  "failing",
  "suspended",
  "unknown",
  "waiting",
  "ok",
  "paused",
  "unconnected",
];

/** What the graph draws: what is wrong first, then what is busy. */
export function buildFlowGraph({
  sources,
  transformations,
  destinations,
  connections,
}: Overview): FlowGraph {
  const shownDestinations = destinations
    .toSorted(
      (one, other) =>
        statesByUrgency.indexOf(one.state) - statesByUrgency.indexOf(other.state) ||
        other.rates.received - one.rates.received ||
        one.name.localeCompare(other.name),
    )
    .slice(0, ROWS_MAX);
  const shownSources = sources
    .toSorted(
      (one, other) =>
        other.receivedPerSecond - one.receivedPerSecond || one.name.localeCompare(other.name),
    )
    .slice(0, ROWS_MAX);
  const middles = transformationNodes(shownDestinations, transformations);
  const middleOf = new Map(middles.map(({ id }, row) => [id, row]));
  const rowOf = new Map(shownDestinations.map((it, row) => [it.id, { it, row }]));
  const sourceRow = new Map(shownSources.map(({ id }, row) => [id, row]));

  const first = new Map<string, FlowEdge>();
  for (const { sourceId, destinationId, enabled, rates } of connections) {
    const from = sourceRow.get(sourceId);
    const destination = rowOf.get(destinationId)?.it;
    if (from === undefined || destination === undefined) continue;
    const to = middleOf.get(destination.transformationId ?? PASS_THROUGH) ?? 0;
    const known = first.get(`${from} ${to}`);
    first.set(`${from} ${to}`, {
      ...{ from, to },
      rate: (known?.rate ?? 0) + rates.received,
      failed: 0,
      isOff: !enabled && (known?.isOff ?? true),
      isDown: false,
    });
  }
  const second = shownDestinations.map((it, to) => ({
    from: middleOf.get(it.transformationId ?? PASS_THROUGH) ?? 0,
    to,
    rate: it.rates.delivered,
    failed: it.rates.failed,
    isOff: it.state === "paused" || it.state === "unconnected",
    isDown: it.state === "down" || it.state === "suspended" || it.rates.failed > 0,
  }));
  return {
    sources: shownSources,
    transformations: middles,
    destinations: shownDestinations,
    edges: [[...first.values()], second],
  };
}

/** In the order of the destinations that have them. */
function transformationNodes(
  destinations: readonly DestinationOverview[],
  codes: readonly TransformationOverview[],
): TransformationNode[] {
  const ids = new Set(destinations.map((it) => it.transformationId ?? PASS_THROUGH));
  return [...ids].map((id) => ({ id, transformation: codes.find((it) => it.id === id) }));
}
