import { LinkButton } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { ItemLink } from "../components/item-link.tsx";
import { Badge } from "../components/layout.tsx";
import { SearchField, useSearchedPages } from "../components/search-field.tsx";
import { type Column, column, Pagination, Table } from "../components/table.tsx";
import type { ConnectionRow } from "../data/model.ts";
import { useAnswer } from "../data/use-resource.ts";
import { DestinationStateBadge } from "../destinations/destination-state.tsx";
import { formatCount, formatDuration, formatRate } from "../format.ts";
import { hrefTo } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { overviewTexts } from "../texts/overview.ts";

const POLL_MS = 5_000;
const PAGE_ITEMS = 25;

const columns: Column<ConnectionRow>[] = [
  column.name(commonTexts.from, ({ sourceId, sourceName }) => (
    <ItemLink screen="sources" id={sourceId} name={sourceName} />
  )),
  column.name(commonTexts.to, ({ destinationId, destinationName }) => (
    <ItemLink screen="destinations" id={destinationId} name={destinationName} />
  )),
  column.narrow(commonTexts.state, ({ enabled, destinationState, rejecting }) =>
    enabled ? (
      <DestinationStateBadge state={destinationState} isRejecting={rejecting} />
    ) : (
      <Badge>{commonTexts.disabled}</Badge>
    ),
  ),
  column.number(commonTexts.received, ({ rates }) => formatRate(rates.received)),
  column.number(commonTexts.delivered, ({ rates }) => formatRate(rates.delivered)),
  column.number(commonTexts.dropped, ({ rates }) => formatRate(rates.dropped)),
  column.number(commonTexts.failed, ({ rates }) => (
    <span class={rates.failed > 0 ? "bad" : undefined}>{formatRate(rates.failed)}</span>
  )),
  column.number(commonTexts.pending, ({ lagEvents }) => formatCount(lagEvents)),
  column.number(commonTexts.oldestPending, ({ lagEvents, lagSeconds }) =>
    lagEvents > 0 ? formatDuration(lagSeconds) : commonTexts.noFigure,
  ),
];

/** Table of all connections with their event rates, in pages. Connections that fail come first. */
export function ConnectionTable() {
  const { text, page, setPage, search } = useSearchedPages();
  const query = { page, count: PAGE_ITEMS, text };
  const { value, error, reload } = useAnswer("GET /v2/status/connections", { query }, POLL_MS);
  return (
    <>
      <ErrorNotice error={error} retry={reload} />
      {(text !== "" || (value?.total ?? 0) > PAGE_ITEMS) && (
        <header>
          <SearchField label={overviewTexts.searchConnections} {...search} />
        </header>
      )}
      <Table
        label={overviewTexts.connections}
        columns={columns}
        rows={value?.connections}
        keyOf={({ id }) => id}
        empty={
          text === ""
            ? {
                icon: "link",
                ...overviewTexts.noConnections,
                action: <LinkButton href={hrefTo("sources")}>{commonTexts.sources}</LinkButton>,
              }
            : { icon: "search", ...commonTexts.noNameFound(text) }
        }
      />
      <Pagination page={page} pageItems={PAGE_ITEMS} total={value?.total} onChange={setPage} />
    </>
  );
}
