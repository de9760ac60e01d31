import { Badge, EmptyState } from "../components/layout.tsx";
import { Table, type TableColumn } from "../components/table.tsx";
import { DestinationStateBadge } from "../destinations/state-badge.tsx";
import { formatCount, formatDuration, formatRate } from "../format.ts";
import { hrefTo } from "../router.ts";
import type { Overview } from "./overview.ts";

type ConnectionRowData = Overview["connections"][number] & {
  source: string;
  destination: Overview["destinations"][number] | undefined;
};

const columns: TableColumn<ConnectionRowData>[] = [
  {
    title: "From",
    kind: "name",
    cell: ({ sourceId, source }) => <a href={hrefTo("sources", sourceId)}>{source}</a>,
  },
  {
    title: "To",
    kind: "name",
    cell: ({ destinationId, destination }) => (
      <a href={hrefTo("destinations", destinationId)}>{destination?.name ?? destinationId}</a>
    ),
  },
  {
    title: "State",
    kind: "narrow",
    cell: ({ enabled, destination, rates }) =>
      enabled ? (
        <DestinationStateBadge state={destination?.state ?? "ok"} failed={rates.failed} />
      ) : (
        <Badge>Off</Badge>
      ),
  },
  { title: "Received", kind: "number narrow", cell: ({ rates }) => formatRate(rates.received) },
  { title: "Delivered", kind: "number narrow", cell: ({ rates }) => formatRate(rates.delivered) },
  { title: "Dropped", kind: "number narrow", cell: ({ rates }) => formatRate(rates.dropped) },
  {
    title: "Failed",
    kind: "number narrow",
    cell: ({ rates }) => (
      <span class={rates.failed > 0 ? "bad" : undefined}>{formatRate(rates.failed)}</span>
    ),
  },
  {
    title: "Waiting",
    kind: "number narrow",
    cell: ({ destination }) => formatCount(destination?.lagEvents ?? 0),
  },
  {
    title: "Oldest",
    kind: "number narrow",
    cell: ({ destination }) =>
      destination?.lagEvents ? formatDuration(destination.lagSeconds) : "–",
  },
];

/** Every edge of the graph in figures. */
export function ConnectionTable({ overview }: { overview: Overview }) {
  const sources = new Map(overview.sources.map((it) => [it.id, it.name]));
  const destinations = new Map(overview.destinations.map((it) => [it.id, it]));
  const rows = overview.connections.map((it) => ({
    ...it,
    source: sources.get(it.sourceId) ?? it.sourceId,
    destination: destinations.get(it.destinationId),
  }));
  return (
    <Table
      label="Connections"
      columns={columns}
      rows={rows}
      keyOf={({ id }) => id}
      empty={
        <EmptyState
          icon="link"
          title="Nothing is connected yet"
          action={
            <a class="button" href={hrefTo("sources")}>
              Sources
            </a>
          }
        >
          Events of a source go to the destinations that it is connected to, from that moment on.
        </EmptyState>
      }
    />
  );
}
