import { type DestinationOverview, type Overview, statesByUrgency } from "../data/model.ts";

/**
 * Edge between nodes of neighbouring columns. `from` and `to` are the rows of the two nodes,
 * counted from 0.
 */
export interface FlowEdge {
  from: number;
  to: number;
  /** Events per second: received from a source, or delivered to a destination. */
  rate: number;
  /** Dead letters (events that were given up) per second. */
  failed: number;
  isOff: boolean;
  isDown: boolean;
}

/** Maximum number of nodes per column. The graph leaves out all further nodes. */
const ROWS_MAX = 12;
/** Id of the node through which events go to the destinations that have no transformation. */
export const PASS_THROUGH = "pass-through";

/**
 * Builds the graph of the overview. Sources are sorted by rate. Destinations are sorted by the
 * urgency of their states, and those with equal states by rate.
 */
export function buildFlowGraph(overview: Overview) {
  const sources = overview.sources
    .toSorted(
      (one, other) =>
        other.receivedPerSecond - one.receivedPerSecond || one.name.localeCompare(other.name),
    )
    .slice(0, ROWS_MAX);
  const destinations = overview.destinations
    .toSorted(
      (one, other) =>
        statesByUrgency.indexOf(one.state) - statesByUrgency.indexOf(other.state) ||
        other.rates.received - one.rates.received ||
        one.name.localeCompare(other.name),
    )
    .slice(0, ROWS_MAX);
  /**
   * Ids of the nodes in the middle column: the transformations of `destinations`, in the order of
   * these destinations.
   */
  const ids = [...new Set(destinations.map((it) => it.transformationId ?? PASS_THROUGH))];
  const transformationRow = ({ transformationId = PASS_THROUGH }: DestinationOverview) =>
    ids.indexOf(transformationId);
  const toDestinations: FlowEdge[] = destinations.map((destination, to) => ({
    from: transformationRow(destination),
    to,
    rate: destination.rates.delivered,
    failed: destination.rates.failed,
    isOff: ["paused", "unconnected", "external"].includes(destination.state),
    isDown: ["down", "suspended", "blocked"].includes(destination.state) || destination.rejecting,
  }));

  const fromSources = new Map<string, FlowEdge>();
  for (const { sourceId, destinationId, enabled, rates } of overview.connections) {
    const from = sources.findIndex(({ id }) => id === sourceId);
    const destination = destinations.find(({ id }) => id === destinationId);
    if (from < 0 || destination === undefined) continue;
    const to = transformationRow(destination);
    // Connections with the same source and the same transformation become one edge. Each counts all
    // events of the source, which go to the transformation once.
    const before = fromSources.get(`${from} ${to}`);
    fromSources.set(`${from} ${to}`, {
      from,
      to,
      rate: Math.max(before?.rate ?? 0, rates.received),
      failed: 0,
      isOff: !enabled && (before?.isOff ?? true),
      isDown: false,
    });
  }
  const taken = Map.groupBy(fromSources.values(), ({ to }) => to);
  const transformations = ids.map((id, row) => ({
    id,
    /** The transformation of this node. Undefined for the node `PASS_THROUGH`. */
    transformation: overview.transformations.find((it) => it.id === id),
    /** Events per second that reach this node. An event for several destinations counts once. */
    rate: (taken.get(row) ?? []).reduce((sum, { rate }) => sum + rate, 0),
  }));
  return {
    sources,
    transformations,
    destinations,
    /** Edges from sources to transformations, and edges from transformations to destinations. */
    edges: [[...fromSources.values()], toDestinations] as const,
  };
}
