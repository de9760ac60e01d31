import { useState } from "preact/hooks";
import { useNames } from "../every.ts";
import { useLoaded } from "../loaded.ts";
import { Fault } from "../parts/fault.tsx";
import { Badge, Empty, Head, Panel } from "../parts/layout.tsx";
import { Search } from "../parts/search.tsx";
import { type Column, Pages, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { go, to } from "../router.ts";
import { count } from "../text.ts";
import { Bulk } from "./bulk.tsx";
import { deadLetterGroups, type Group } from "./groups.ts";

const ASKED_EVERY_MS = 10_000;
const PAGE_ITEMS = 50;

/** Why events were given up, by destination and reason. */
export function GroupList({ destinationId }: { destinationId: string | undefined }) {
  const names = useNames();
  const [text, setText] = useState("");
  const [page, setPage] = useState(1);
  const { value, error, reload } = useLoaded(
    () => deadLetterGroups(destinationId),
    [destinationId],
    ASKED_EVERY_MS,
  );
  const total = value?.reduce((sum, group) => sum + group.count, 0);
  const wanted = text.toLowerCase();
  const found = value?.filter((group) =>
    `${group.reason} ${names.destination(group.destinationId)}`.toLowerCase().includes(wanted),
  );
  const columns: Column<Group>[] = [
    {
      title: "Reason",
      kind: "name",
      cell: ({ id, reason }) => (
        <a class="clamp" href={to("dead-letters", { groupId: id })}>
          {reason || "No reason given"}
        </a>
      ),
    },
    {
      title: "Destination",
      cell: (group) => (
        <a href={to("destinations", group.destinationId)}>
          {names.destination(group.destinationId)}
        </a>
      ),
    },
    { title: "Failed in", kind: "narrow", cell: ({ stage }) => <StageBadge stage={stage} /> },
    { title: "Events", kind: "number narrow", cell: (group) => count(group.count) },
    { title: "Latest", kind: "narrow", cell: ({ lastAt }) => <Time at={lastAt} /> },
  ];
  const filter = destinationId === undefined ? {} : { destinationId };
  return (
    <>
      <Head title="Dead letters">
        {total !== undefined && total > 0 && (
          <a class="button" href={to("dead-letters", { all: "1", destinationId })}>
            List all {count(total)}
          </a>
        )}
      </Head>
      <Fault error={error} retry={reload} />
      <div class="bulk">
        {total !== undefined && total > 0 && (
          <Bulk filter={filter} total={total} changed={reload} what="all of them" />
        )}
      </div>
      <Panel flush>
        <header>
          <Search
            label="Find a reason"
            value={text}
            onInput={(typed) => {
              setText(typed);
              setPage(1);
            }}
          />
          <select
            aria-label="Destination"
            value={destinationId ?? ""}
            onChange={({ currentTarget }) =>
              go(to("dead-letters", { destinationId: currentTarget.value }))
            }
          >
            <option value="">All destinations</option>
            {names.destinations.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </header>
        <Table
          label="Reasons"
          columns={columns}
          rows={found?.slice((page - 1) * PAGE_ITEMS, page * PAGE_ITEMS)}
          keyOf={({ id }) => id}
          empty={
            <Empty icon="check" title={text ? `No reason has “${text}” in it` : "No dead letters"}>
              An event that cannot be delivered, or that fails in the code, waits here with its
              reason until somebody replays or purges it.
            </Empty>
          }
        />
        <Pages page={page} pageItems={PAGE_ITEMS} total={found?.length} onChange={setPage} />
      </Panel>
    </>
  );
}

export function StageBadge({ stage }: { stage: Group["stage"] }) {
  return <Badge flat>{stage === "transform" ? "code" : "delivery"}</Badge>;
}
