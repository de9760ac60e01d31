import { useState } from "preact/hooks";
import type { QueryOf } from "../../api/client.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { ItemName } from "../components/item-link.tsx";
import { ClampedText, Panel, ScreenHeader } from "../components/layout.tsx";
import { type Column, column, PageButtons, Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { eventName } from "../data/event-name.ts";
import type {
  DeadLetter,
  DeadLetterGroup,
  DeadLetterGroupDetails,
  LetterPage,
} from "../data/model.ts";
import { client } from "../data/session.ts";
import { useFirstNames } from "../data/use-names.ts";
import { useAnswer, useResource } from "../data/use-resource.ts";
import { formatCount } from "../format.ts";
import { hrefTo } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { deadLetterTexts } from "../texts/dead-letters.ts";
import { BulkActions, type BulkTarget } from "./bulk-actions.tsx";
import { ResponseDetails } from "./receiver-response.tsx";

const PAGE_ITEMS = 50;

/**
 * A group of dead letters. If it was loaded by its id, it also has the receiver responses that are
 * stored for it.
 */
type LetterGroup = DeadLetterGroup & Partial<DeadLetterGroupDetails>;

type LetterFilter = Pick<QueryOf<"GET /v2/dead-letters">, "groupId" | "destinationId">;

/** Query parameters of the page's address that say which dead letters or groups to list. */
export type LetterListQuery = Record<"groupId" | "destinationId" | "all", string | undefined>;

/**
 * Lists the dead letters (events that were given up) of a group, a destination or the workspace,
 * oldest first.
 */
export function DeadLetterList({ filter }: { filter: LetterFilter }) {
  useFirstNames();
  /**
   * Cursors of the pages from the first to the current one. A cursor is the id of the last dead
   * letter on the page before, and undefined for the first page.
   */
  const [starts, setStarts] = useState<readonly (string | undefined)[]>([undefined]);
  const [selected, setSelected] = useState<ReadonlyMap<string, DeadLetter>>(new Map());
  const after = starts.at(-1);
  const query = { ...filter, count: PAGE_ITEMS, ...(after !== undefined && { after }) };
  const { value, error, reload } = useAnswer("GET /v2/dead-letters", { query });
  const groups = useResource(() => groupsOf(filter), [filter]);
  const group = filter.groupId === undefined ? undefined : groups.value?.[0];
  const letters = value?.deadLetters;
  const restart = async () => {
    setSelected(new Map());
    setStarts([undefined]);
    await Promise.all([reload(), groups.reload()]);
  };
  const toggle = (letter: DeadLetter) => {
    const next = new Map(selected);
    if (!next.delete(letter.id)) next.set(letter.id, letter);
    setSelected(next);
  };
  /**
   * Returns the dead letters that the buttons affect: the selected ones or, if none is selected,
   * all that match the filter.
   */
  const targetOf = (list: LetterPage, failures: BulkTarget["failures"]): BulkTarget => {
    if (selected.size > 0) {
      const selection = { ids: [...selected.keys()] };
      return { selection, count: selected.size, failures: [...selected.values()] };
    }
    return { selection: { filter, before: list.asOf }, count: list.paging.total, failures };
  };
  const areGroupsLoaded = groups.value !== undefined || groups.error !== undefined;
  const target =
    value && areGroupsLoaded ? targetOf(value, groups.value ?? value.deadLetters) : undefined;
  const describe = selected.size > 0 ? deadLetterTexts.selected : deadLetterTexts.all;
  const isPageSelected = letters?.every(({ id }) => selected.has(id)) === true;
  const { destinationId } = filter;
  const total = value?.paging.total ?? 0;
  return (
    <>
      <ScreenHeader
        title={
          filter.groupId
            ? (group?.reason ?? letters?.[0]?.reason ?? commonTexts.deadLetters)
            : deadLetterTexts.allDeadLetters
        }
        parent={{ href: hrefTo("dead-letters", { destinationId }), text: commonTexts.deadLetters }}
      />
      <ErrorNotice error={error} retry={reload} />
      <div class="bulk">
        {target !== undefined && target.count > 0 && (
          <BulkActions
            target={target}
            description={describe(target.count)}
            reload={restart}
            loadTarget={async () => {
              const query = { ...filter, count: 1 };
              const list = await client.call("GET /v2/dead-letters", { query });
              return targetOf(list, await groupsOf(filter));
            }}
          />
        )}
      </div>
      {group && <GroupResponses responses={group.responses ?? []} />}
      <Panel flush>
        <Table
          label={commonTexts.deadLetters}
          columns={columnsOf(filter, selected, toggle)}
          rows={letters}
          keyOf={({ id }) => id}
          empty={{
            icon: "check",
            title: deadLetterTexts.noDeadLetters,
            text: deadLetterTexts.noLettersHint,
            action: (
              <LinkButton href={hrefTo("dead-letters", { destinationId })}>
                {deadLetterTexts.allReasons}
              </LinkButton>
            ),
          }}
        />
        {letters !== undefined && letters.length > 0 && (
          <nav class="pages" aria-label={commonTexts.pages}>
            <span class="row">
              <Button
                kind="plain"
                compact
                onClick={() => {
                  const page = letters.map((it) => [it.id, it] as const);
                  setSelected(new Map(isPageSelected ? [] : [...selected, ...page]));
                }}
              >
                {isPageSelected ? deadLetterTexts.clearSelection : deadLetterTexts.selectPage}
              </Button>
              <span class="tabular">{deadLetterTexts.order(total)}</span>
            </span>
            <PageButtons
              isFirst={starts.length === 1}
              isLast={value?.paging.next === undefined}
              onPrevious={() => setStarts(starts.slice(0, -1))}
              onNext={() => setStarts([...starts, letters.at(-1)?.id])}
            />
          </nav>
        )}
      </Panel>
    </>
  );
}

/** Shows the receiver responses stored for a group: the latest one, and the others folded. */
function GroupResponses({ responses }: { responses: LetterGroup["responses"] }) {
  const [latest, ...others] = responses ?? [];
  if (latest === undefined) return null;
  return (
    <Panel title={deadLetterTexts.latestResponse} actions={<Time at={latest.at} />}>
      <ResponseDetails response={latest.response} />
      {others.length > 0 && (
        <details>
          <summary>{deadLetterTexts.otherResponses(others.length)}</summary>
          {others.map(({ at, response }) => (
            <div key={at} class="stack">
              <Time at={at} />
              <ResponseDetails response={response} />
            </div>
          ))}
        </details>
      )}
    </Panel>
  );
}

/** Loads the groups of the dead letters that match a filter, largest group first. */
async function groupsOf({ groupId, destinationId }: LetterFilter): Promise<LetterGroup[]> {
  if (groupId === undefined) {
    const query = { ...(destinationId !== undefined && { destinationId }) };
    return (await client.call("GET /v2/dead-letter-groups", { query })).deadLetterGroups;
  }
  const params = { id: groupId };
  return [(await client.call("GET /v2/dead-letter-groups/{id}", { params })).deadLetterGroup];
}

function columnsOf(
  { groupId, destinationId }: LetterFilter,
  selected: ReadonlyMap<string, DeadLetter>,
  toggle: (letter: DeadLetter) => void,
): Column<DeadLetter>[] {
  const list = { groupId, destinationId, all: groupId === undefined ? "1" : undefined };
  return [
    column.narrow("", (letter) => (
      <input
        type="checkbox"
        aria-label={deadLetterTexts.select(eventName(letter.event))}
        checked={selected.has(letter.id)}
        onChange={() => toggle(letter)}
      />
    )),
    column.name(commonTexts.event, ({ id, event }) => (
      <a class="cut" href={hrefTo("dead-letters", id, list)}>
        {eventName(event)}
      </a>
    )),
    column.plain(commonTexts.reason, ({ reason }) => <ClampedText text={reason} tone="bad" />),
    column.plain(commonTexts.from, ({ sourceId }) => <ItemName kind="source" id={sourceId} />),
    column.plain(commonTexts.to, ({ destinationId }) => (
      <ItemName kind="destination" id={destinationId} />
    )),
    column.number(deadLetterTexts.attempts, ({ attempts }) => formatCount(attempts)),
    column.narrow(deadLetterTexts.failedAt, ({ createdAt }) => <Time at={createdAt} />),
  ];
}
