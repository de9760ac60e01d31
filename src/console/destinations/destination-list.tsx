import { Badge } from "../components/layout.tsx";
import { ListScreen, nameColumn } from "../components/list-screen.tsx";
import type { Column } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { listAllDestinations } from "../data/list-all.ts";
import type { Destination } from "../data/model.ts";
import { hrefTo } from "../router.ts";

const columns: Column<Destination>[] = [
  nameColumn("destinations"),
  { title: "Type", kind: "narrow", cell: ({ type }) => <Badge flat>{type}</Badge> },
  {
    title: "State",
    kind: "narrow",
    cell: ({ enabled }) => (enabled ? <Badge tone="good">On</Badge> : <Badge>Paused</Badge>),
  },
  { title: "Endpoint", cell: ({ config }) => <code class="quiet">{endpointOf(config)}</code> },
  {
    title: "Transformation",
    kind: "narrow",
    cell: ({ transformation }) =>
      transformation ? (
        <a href={hrefTo("transformations", transformation.id)}>Open</a>
      ) : (
        <span class="quiet">None</span>
      ),
  },
  { title: "Created", kind: "narrow", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** Returns the config value that identifies the receiver: its URL, path, host or bucket. */
function endpointOf(config: Destination["config"]): string {
  const { webhookUrl, path, host, bucket, url } = config;
  const endpoint = webhookUrl ?? path ?? host ?? bucket ?? url;
  return typeof endpoint === "string" ? endpoint : "";
}

/** Screen that lists all destinations of the workspace. */
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
      A destination receives the events of its connected sources: a webhook, a database, Kafka, an
      object store or a file.
    </ListScreen>
  );
}
