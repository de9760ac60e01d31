import { Badge, EmptyState } from "../components/layout.tsx";
import { type Column, Table } from "../components/table.tsx";
import type { DestinationOverview, Overview } from "../data/model.ts";
import { DestinationStateBadge } from "../destinations/destination-state.tsx";
import { formatCount, formatDuration, formatRate } from "../format.ts";
import { hrefTo } from "../router.ts";

type ConnectionFigures = Overview["connections"][number] & {
  source: string;
  destination: DestinationOverview | undefined;
};

const columns: Column<ConnectionFigures>[] = [
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
        <Badge>Disabled</Badge>
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
    title: "Pending",
    kind: "number narrow",
    cell: ({ destination }) => formatCount(destination?.lagEvents ?? 0),
  },
  {
    title: "Oldest pending",
    kind: "number narrow",
    cell: ({ destination }) =>
      destination?.lagEvents ? formatDuration(destination.lagSeconds) : "–",
  },
];

/** Table with the event rates of each connection. */
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
          title="No connections yet"
          action={
            <a class="button" href={hrefTo("sources")}>
              Sources
            </a>
          }
        >
          A connected destination receives the events of the source from that moment.
        </EmptyState>
      }
    />
  );
}
