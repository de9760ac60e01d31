import type { Overview } from "./overview.ts";

type Source = Overview["sources"][number];
type Code = Overview["transformations"][number];
type Destination = Overview["destinations"][number];

/** In the middle: a transformation, or where events pass as they are. */
export interface Middle {
  id: string;
  code: Code | undefined;
}

/** From the row of one column to that of the next. */
export interface Edge {
  from: number;
  to: number;
  /** Events per second, and those of them that failed. */
  rate: number;
  failed: number;
  isOff: boolean;
  isDown: boolean;
}

export interface Ways {
  sources: readonly Source[];
  middles: readonly Middle[];
  destinations: readonly Destination[];
  /** Sources to the middle, the middle to destinations. */
  edges: readonly [readonly Edge[], readonly Edge[]];
}

/** Of each column; the rest is in the table below the graph. */
export const ROWS_MAX = 24;
export const UNCHANGED = "unchanged";

const urgency = [
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
export function waysOf({ sources, transformations, destinations, connections }: Overview): Ways {
  const shownDestinations = destinations
    .toSorted(
      (one, other) =>
        urgency.indexOf(one.state) - urgency.indexOf(other.state) ||
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
  const middles = middlesOf(shownDestinations, transformations);
  const middleOf = new Map(middles.map(({ id }, row) => [id, row]));
  const rowOf = new Map(shownDestinations.map((it, row) => [it.id, { it, row }]));
  const sourceRow = new Map(shownSources.map(({ id }, row) => [id, row]));

  const first = new Map<string, Edge>();
  for (const { sourceId, destinationId, enabled, rates } of connections) {
    const from = sourceRow.get(sourceId);
    const destination = rowOf.get(destinationId)?.it;
    if (from === undefined || destination === undefined) continue;
    const to = middleOf.get(destination.transformationId ?? UNCHANGED) ?? 0;
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
    from: middleOf.get(it.transformationId ?? UNCHANGED) ?? 0,
    to,
    rate: it.rates.delivered,
    failed: it.rates.failed,
    isOff: it.state === "paused" || it.state === "unconnected",
    isDown: it.state === "down" || it.state === "suspended" || it.rates.failed > 0,
  }));
  return {
    sources: shownSources,
    middles,
    destinations: shownDestinations,
    edges: [[...first.values()], second],
  };
}

/** In the order of the destinations that have them. */
function middlesOf(destinations: readonly Destination[], codes: readonly Code[]): Middle[] {
  const ids = new Set(destinations.map((it) => it.transformationId ?? UNCHANGED));
  return [...ids].map((id) => ({ id, code: codes.find((it) => it.id === id) }));
}
