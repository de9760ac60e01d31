import { useState } from "preact/hooks";
import { type Destination, everyDestination, matching } from "../every.ts";
import { useLoaded } from "../loaded.ts";
import { Button } from "../parts/button.tsx";
import { Fault } from "../parts/fault.tsx";
import { Badge, Empty, Head, Panel } from "../parts/layout.tsx";
import { Search } from "../parts/search.tsx";
import { type Column, Pages, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { go, to } from "../router.ts";

const PAGE_ITEMS = 50;

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
  const { value, error, reload } = useLoaded(everyDestination, []);
  const [text, setText] = useState("");
  const [page, setPage] = useState(1);
  const found = matching(value, text);
  const create = (
    <Button
      kind="main"
      icon="plus"
      needs="workspace:admin"
      onClick={() => go(to("destinations", "new"))}
    >
      New destination
    </Button>
  );
  return (
    <>
      <Head title="Destinations">{create}</Head>
      <Fault error={error} retry={reload} />
      <Panel flush>
        <header>
          <Search
            label="Find a destination"
            value={text}
            onInput={(typed) => {
              setText(typed);
              setPage(1);
            }}
          />
        </header>
        <Table
          label="Destinations"
          columns={columns}
          rows={found?.slice((page - 1) * PAGE_ITEMS, page * PAGE_ITEMS)}
          keyOf={({ id }) => id}
          empty={
            text === "" ? (
              <Empty icon="destination" title="No destination yet" action={create}>
                A destination takes the events of the sources that are connected to it: a webhook, a
                file.
              </Empty>
            ) : (
              <Empty icon="search" title={`No destination is called “${text}”`}>
                Try a part of the name, or the whole id.
              </Empty>
            )
          }
        />
        <Pages page={page} pageItems={PAGE_ITEMS} total={found?.length} onChange={setPage} />
      </Panel>
    </>
  );
}
