import { StateBadge } from "../destinations/state-badge.tsx";
import { Badge, Empty } from "../parts/layout.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { to } from "../router.ts";
import { count, rate, span } from "../text.ts";
import type { Overview } from "./overview.ts";

type Row = Overview["connections"][number] & {
  source: string;
  destination: Overview["destinations"][number] | undefined;
};

const columns: Column<Row>[] = [
  {
    title: "From",
    kind: "name",
    cell: ({ sourceId, source }) => <a href={to("sources", sourceId)}>{source}</a>,
  },
  {
    title: "To",
    kind: "name",
    cell: ({ destinationId, destination }) => (
      <a href={to("destinations", destinationId)}>{destination?.name ?? destinationId}</a>
    ),
  },
  {
    title: "State",
    kind: "narrow",
    cell: ({ enabled, destination, rates }) =>
      enabled ? (
        <StateBadge state={destination?.state ?? "ok"} failed={rates.failed} />
      ) : (
        <Badge>Off</Badge>
      ),
  },
  { title: "Received", kind: "number narrow", cell: ({ rates }) => rate(rates.received) },
  { title: "Delivered", kind: "number narrow", cell: ({ rates }) => rate(rates.delivered) },
  { title: "Dropped", kind: "number narrow", cell: ({ rates }) => rate(rates.dropped) },
  {
    title: "Failed",
    kind: "number narrow",
    cell: ({ rates }) => (
      <span class={rates.failed > 0 ? "bad" : undefined}>{rate(rates.failed)}</span>
    ),
  },
  {
    title: "Waiting",
    kind: "number narrow",
    cell: ({ destination }) => count(destination?.lagEvents ?? 0),
  },
  {
    title: "Oldest",
    kind: "number narrow",
    cell: ({ destination }) => (destination?.lagEvents ? span(destination.lagSeconds) : "–"),
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
        <Empty
          icon="link"
          title="Nothing is connected yet"
          action={
            <a class="button" href={to("sources")}>
              Sources
            </a>
          }
        >
          Events of a source go to the destinations that it is connected to, from that moment on.
        </Empty>
      }
    />
  );
}
