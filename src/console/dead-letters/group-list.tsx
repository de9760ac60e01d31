import { useState } from "preact/hooks";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Badge, EmptyState, Panel, ScreenHeader } from "../components/layout.tsx";
import { SearchField } from "../components/search-field.tsx";
import { Pagination, Table, type TableColumn } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { useNames } from "../data/list-all.ts";
import { useResource } from "../data/use-resource.ts";
import { formatCount } from "../format.ts";
import { hrefTo, navigate } from "../router.ts";
import { BulkActions } from "./bulk-actions.tsx";
import { type DeadLetterGroup, listDeadLetterGroups } from "./letter-groups.ts";

const ASKED_EVERY_MS = 10_000;
const PAGE_ITEMS = 50;

/** Why events were given up, by destination and reason. */
export function GroupList({ destinationId }: { destinationId: string | undefined }) {
  const names = useNames();
  const [text, setText] = useState("");
  const [page, setPage] = useState(1);
  const { value, error, reload } = useResource(
    () => listDeadLetterGroups(destinationId),
    [destinationId],
    ASKED_EVERY_MS,
  );
  const total = value?.reduce((sum, group) => sum + group.count, 0);
  const wanted = text.toLowerCase();
  const found = value?.filter((group) =>
    `${group.reason} ${names.destination(group.destinationId)}`.toLowerCase().includes(wanted),
  );
  const columns: TableColumn<DeadLetterGroup>[] = [
    {
      title: "Reason",
      kind: "name",
      cell: ({ id, reason }) => (
        <a class="clamp" href={hrefTo("dead-letters", { groupId: id })}>
          {reason || "No reason given"}
        </a>
      ),
    },
    {
      title: "Destination",
      cell: (group) => (
        <a href={hrefTo("destinations", group.destinationId)}>
          {names.destination(group.destinationId)}
        </a>
      ),
    },
    { title: "Failed in", kind: "narrow", cell: ({ stage }) => <StageBadge stage={stage} /> },
    { title: "Events", kind: "number narrow", cell: (group) => formatCount(group.count) },
    { title: "Latest", kind: "narrow", cell: ({ lastAt }) => <Time at={lastAt} /> },
  ];
  const filter = destinationId === undefined ? {} : { destinationId };
  return (
    <>
      <ScreenHeader title="Dead letters">
        {total !== undefined && total > 0 && (
          <a class="button" href={hrefTo("dead-letters", { all: "1", destinationId })}>
            List all {formatCount(total)}
          </a>
        )}
      </ScreenHeader>
      <ErrorNotice error={error} retry={reload} />
      <div class="bulk">
        {total !== undefined && total > 0 && (
          <BulkActions filter={filter} total={total} changed={reload} what="all of them" />
        )}
      </div>
      <Panel flush>
        <header>
          <SearchField
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
              navigate(hrefTo("dead-letters", { destinationId: currentTarget.value }))
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
            <EmptyState
              icon="check"
              title={text ? `No reason has “${text}” in it` : "No dead letters"}
            >
              An event that cannot be delivered, or that fails in the code, waits here with its
              reason until somebody replays or purges it.
            </EmptyState>
          }
        />
        <Pagination page={page} pageItems={PAGE_ITEMS} total={found?.length} onChange={setPage} />
      </Panel>
    </>
  );
}

export function StageBadge({ stage }: { stage: DeadLetterGroup["stage"] }) {
  return <Badge flat>{stage === "transform" ? "code" : "delivery"}</Badge>;
}
