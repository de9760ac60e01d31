import { useState } from "preact/hooks";
import { ErrorNotice } from "../components/error-notice.tsx";
import { FilterSelect } from "../components/filter-select.tsx";
import { optionsOf } from "../components/forms/fields.tsx";
import { Badge, EmptyState, Panel, ScreenHeader } from "../components/layout.tsx";
import { SearchField } from "../components/search-field.tsx";
import { type Column, Pagination, Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import type { DeadLetterGroup } from "../data/model.ts";
import { client } from "../data/session.ts";
import { type NameLookup, useNames } from "../data/use-names.ts";
import { useResource } from "../data/use-resource.ts";
import { formatCount } from "../format.ts";
import { hrefTo, navigate } from "../router.ts";
import { BulkActions } from "./bulk-actions.tsx";

const POLL_MS = 10_000;
const PAGE_ITEMS = 50;

/**
 * Screen that lists groups of dead letters (events that were given up). The dead letters of a group
 * have the same destination and failure reason.
 */
export function GroupList({ destinationId }: { destinationId: string | undefined }) {
  const names = useNames();
  const [text, setText] = useState("");
  const [page, setPage] = useState(1);
  const filter = destinationId === undefined ? {} : { destinationId };
  const { value, error, reload } = useResource(
    async () =>
      (await client.call("GET /v2/dead-letter-groups", { query: filter })).deadLetterGroups,
    [destinationId],
    POLL_MS,
  );
  const total = value?.reduce((sum, group) => sum + group.count, 0) ?? 0;
  const lowerCase = text.toLowerCase();
  const matches = value?.filter((group) =>
    `${group.reason} ${names.destination(group.destinationId)}`.toLowerCase().includes(lowerCase),
  );
  return (
    <>
      <ScreenHeader title="Dead letters">
        {total > 0 && (
          <a class="button" href={hrefTo("dead-letters", { all: "1", destinationId })}>
            List all {formatCount(total)}
          </a>
        )}
      </ScreenHeader>
      <ErrorNotice error={error} retry={reload} />
      <div class="bulk">
        {total > 0 && (
          <BulkActions
            filter={filter}
            total={total}
            reload={reload}
            description={`all ${formatCount(total)}`}
          />
        )}
      </div>
      <Panel flush>
        <header>
          <SearchField
            label="Search reasons"
            value={text}
            onInput={(typed) => {
              setText(typed);
              setPage(1);
            }}
          />
          <FilterSelect
            label="Destination"
            all="All destinations"
            value={destinationId ?? ""}
            options={optionsOf(names.destinations)}
            onChange={(id) => navigate(hrefTo("dead-letters", { destinationId: id }))}
          />
        </header>
        <Table
          label="Reasons"
          columns={columnsOf(names)}
          rows={matches?.slice((page - 1) * PAGE_ITEMS, page * PAGE_ITEMS)}
          keyOf={({ id }) => id}
          empty={
            <EmptyState icon="check" title={text ? `No results for “${text}”` : "No dead letters"}>
              An event that cannot be delivered, or that fails in the transformation, is kept here
              with its reason until you replay or purge it.
            </EmptyState>
          }
        />
        <Pagination page={page} pageItems={PAGE_ITEMS} total={matches?.length} onChange={setPage} />
      </Panel>
    </>
  );
}

function columnsOf(names: NameLookup): Column<DeadLetterGroup>[] {
  return [
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
      cell: ({ destinationId }) => (
        <a href={hrefTo("destinations", destinationId)}>{names.destination(destinationId)}</a>
      ),
    },
    { title: "Failed in", kind: "narrow", cell: ({ stage }) => <StageBadge stage={stage} /> },
    { title: "Events", kind: "number narrow", cell: ({ count }) => formatCount(count) },
    { title: "Latest", kind: "narrow", cell: ({ lastAt }) => <Time at={lastAt} /> },
  ];
}

export function StageBadge({ stage }: { stage: DeadLetterGroup["stage"] }) {
  return <Badge flat>{stage === "transform" ? "transformation" : "delivery"}</Badge>;
}
