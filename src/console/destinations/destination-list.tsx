import { Badge } from "../components/layout.tsx";
import { ListScreen } from "../components/list-screen.tsx";
import type { TableColumn } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { type Destination, listAllDestinations } from "../data/list-all.ts";
import { hrefTo } from "../router.ts";

const columns: TableColumn<Destination>[] = [
  {
    title: "Name",
    kind: "name",
    cell: ({ id, name }) => (
      <a class="cut" href={hrefTo("destinations", id)}>
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
  { title: "Goes to", cell: ({ config }) => <code class="quiet">{endpointOf(config)}</code> },
  {
    title: "Transformation",
    kind: "narrow",
    cell: ({ transformation }) =>
      transformation ? (
        <a href={hrefTo("transformations", transformation.id)}>Has one</a>
      ) : (
        <span class="quiet">None</span>
      ),
  },
  { title: "Created", kind: "narrow", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** The setting that says most about a destination: its address. */
function endpointOf(config: Destination["config"]): string {
  const { webhookUrl, path, host, bucket, url } = config;
  const goal = webhookUrl ?? path ?? host ?? bucket ?? url;
  return typeof goal === "string" ? goal : "";
}

/** All destinations of the workspace. */
export function DestinationList() {
  return (
    <ListScreen
      screen="destinations"
      title="Destinations"
      singular="destination"
      icon="destination"
      createPermission="workspace:admin"
      load={listAllDestinations}
      columns={columns}
    >
      A destination takes the events of the sources that are connected to it: a webhook, a database,
      Kafka, an object store, a file.
    </ListScreen>
  );
}
