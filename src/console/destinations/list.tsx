import { type Destination, everyDestination } from "../every.ts";
import { NamedList } from "../named-list.tsx";
import { Badge } from "../parts/layout.tsx";
import type { Column } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { to } from "../router.ts";

const columns: Column<Destination>[] = [
  {
    title: "Name",
    kind: "name",
    cell: ({ id, name }) => (
      <a class="cut" href={to("destinations", id)}>
        {name}
      </a>
    ),
  },
  { title: "Type", kind: "narrow", cell: ({ type }) => <Badge flat>{type}</Badge> },
  {
    title: "State",
    kind: "narrow",
    cell: ({ enabled }) => (enabled ? <Badge tone="good">On</Badge> : <Badge>Paused</Badge>),
  },
  { title: "Goes to", cell: ({ config }) => <code class="quiet">{goalOf(config)}</code> },
  {
    title: "Transformation",
    kind: "narrow",
    cell: ({ transformation }) =>
      transformation ? (
        <a href={to("transformations", transformation.id)}>Has one</a>
      ) : (
        <span class="quiet">None</span>
      ),
  },
  { title: "Created", kind: "narrow", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** The setting that says most about a destination: its address. */
function goalOf(config: Destination["config"]): string {
  const { webhookUrl, path, host, bucket, url } = config;
  const goal = webhookUrl ?? path ?? host ?? bucket ?? url;
  return typeof goal === "string" ? goal : "";
}

/** All destinations of the workspace. */
export function DestinationList() {
  return (
    <NamedList
      screen="destinations"
      title="Destinations"
      one="destination"
      icon="destination"
      create="workspace:admin"
      load={everyDestination}
      columns={columns}
    >
      A destination takes the events of the sources that are connected to it: a webhook, a database,
      Kafka, an object store, a file.
    </NamedList>
  );
}
