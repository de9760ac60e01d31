import { DEAD_LETTER_FILTER_GROUPS_MAX } from "../../settings/limits.ts";
import { ErrorNotice } from "../components/error-notice.tsx";
import { NamedLink } from "../components/item-link.tsx";
import { Badge, Panel, ScreenHeader } from "../components/layout.tsx";
import { NameFilter } from "../components/name-select.tsx";
import { SearchField, useSearchedPages } from "../components/search-field.tsx";
import { type Column, column, Pagination, Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import type { DeadLetterGroup, DeadLetterGroups } from "../data/model.ts";
import { client } from "../data/session.ts";
import { useNames } from "../data/use-names.ts";
import { useResource } from "../data/use-resource.ts";
import { formatCount } from "../format.ts";
import { hrefTo, navigate } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { deadLetterTexts } from "../texts/dead-letters.ts";
import { BulkActions, type BulkTarget } from "./bulk-actions.tsx";

const POLL_MS = 10_000;
const PAGE_ITEMS = 50;

/**
 * Screen that lists groups of dead letters (events that were given up). The dead letters of a group
 * have the same destination and failure reason.
 */
export function GroupList({ destinationId }: { destinationId: string | undefined }) {
  const names = useNames();
  const { text, page, setPage, search } = useSearchedPages();
  const filter = destinationId === undefined ? {} : { destinationId };
  const load = () => client.call("GET /v2/dead-letter-groups", { query: filter });
  const { value, error, reload } = useResource(load, [destinationId], POLL_MS);
  const total = value?.letters ?? 0;
  const lowerCase = text.trim().toLowerCase();
  const matchesOf = ({ deadLetterGroups }: DeadLetterGroups) =>
    deadLetterGroups.filter((group) =>
      `${group.reason} ${names.destination(group.destinationId)}`.toLowerCase().includes(lowerCase),
    );
  /**
   * Returns the dead letters that the buttons replay or purge: all or, after a search, those of the
   * matching groups. Returns undefined if no group matches, or more than
   * `DEAD_LETTER_FILTER_GROUPS_MAX` do.
   */
  const targetOf = (list: DeadLetterGroups): BulkTarget | undefined => {
    const failures = matchesOf(list);
    const before = list.asOf;
    if (lowerCase === "") return { selection: { filter, before }, count: list.letters, failures };
    const groupIds = failures.map(({ id }) => id);
    const count = failures.reduce((sum, group) => sum + group.count, 0);
    if (count === 0 || groupIds.length > DEAD_LETTER_FILTER_GROUPS_MAX) return undefined;
    return { selection: { filter: { groupIds }, before }, count, failures };
  };
  const describe = lowerCase === "" ? deadLetterTexts.all : deadLetterTexts.matching;
  const matches = value && matchesOf(value);
  const target = value && targetOf(value);
  return (
    <>
      <ScreenHeader title={commonTexts.deadLetters}>
        {total > 0 && (
          <a class="button" href={hrefTo("dead-letters", { all: "1", destinationId })}>
            {deadLetterTexts.listAll(total)}
          </a>
        )}
      </ScreenHeader>
      <ErrorNotice error={error} retry={reload} />
      <div class="bulk">
        {target !== undefined && target.count > 0 && (
          <BulkActions
            target={target}
            reload={reload}
            loadTarget={async () => targetOf(await load())}
            description={describe(target.count)}
          />
        )}
        {matches !== undefined &&
          lowerCase !== "" &&
          matches.length > DEAD_LETTER_FILTER_GROUPS_MAX && (
            <p class="notice">
              {deadLetterTexts.tooManyReasons(matches.length, DEAD_LETTER_FILTER_GROUPS_MAX)}
            </p>
          )}
      </div>
      {value !== undefined && value.paging.total > value.deadLetterGroups.length && (
        <p class="notice">
          {deadLetterTexts.reasonsCut(value.deadLetterGroups.length, value.paging.total)}
        </p>
      )}
      <Panel flush>
        <header>
          <SearchField label={deadLetterTexts.searchReasons} {...search} />
          <NameFilter
            kind="destination"
            label={commonTexts.destination}
            none={commonTexts.allDestinations}
            value={destinationId ?? ""}
            onChange={(id) => {
              setPage(1);
              navigate(hrefTo("dead-letters", { destinationId: id }));
            }}
          />
        </header>
        <Table
          label={deadLetterTexts.reasons}
          columns={columnsOf(destinationId)}
          rows={matches?.slice((page - 1) * PAGE_ITEMS, page * PAGE_ITEMS)}
          keyOf={({ id }) => id}
          empty={{
            icon: "check",
            title: text ? commonTexts.noResultsFor(text) : deadLetterTexts.noDeadLetters,
            text: deadLetterTexts.deadLettersExplained,
          }}
        />
        <Pagination page={page} pageItems={PAGE_ITEMS} total={matches?.length} onChange={setPage} />
      </Panel>
    </>
  );
}

function columnsOf(destinationId: string | undefined): Column<DeadLetterGroup>[] {
  return [
    column.name(commonTexts.reason, ({ id, reason }) => (
      <a class="clamp" href={hrefTo("dead-letters", { groupId: id, destinationId })}>
        {reason || deadLetterTexts.noReasonGiven}
      </a>
    )),
    column.plain(commonTexts.destination, ({ destinationId }) => (
      <NamedLink kind="destination" id={destinationId} />
    )),
    column.narrow(deadLetterTexts.failedIn, ({ stage }) => <StageBadge stage={stage} />),
    column.number(commonTexts.events, ({ count }) => formatCount(count)),
    column.narrow(deadLetterTexts.first, ({ firstAt }) => firstAt && <Time at={firstAt} />),
    column.narrow(deadLetterTexts.latest, ({ lastAt }) => <Time at={lastAt} />),
  ];
}

export function StageBadge({ stage }: { stage: DeadLetterGroup["stage"] }) {
  return <Badge flat>{deadLetterTexts.stages[stage]}</Badge>;
}
