import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { EmptyState, Panel, ScreenHeader } from "../components/layout.tsx";
import { type Column, PageButtons, Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { eventName } from "../data/event-name.ts";
import type { DeadLetter } from "../data/model.ts";
import { client } from "../data/session.ts";
import { type NameLookup, useNames } from "../data/use-names.ts";
import { useResource } from "../data/use-resource.ts";
import { formatCount, pluralize } from "../format.ts";
import { hrefTo } from "../router.ts";
import { BulkActions } from "./bulk-actions.tsx";

const PAGE_ITEMS = 50;

interface LetterFilter {
  groupId?: string;
  destinationId?: string;
}

/**
 * Lists the dead letters (events that were given up) of a group, a destination or the workspace,
 * oldest first.
 */
export function DeadLetterList({ filter }: { filter: LetterFilter }) {
  const names = useNames();
  /**
   * The `after` parameter of each page opened so far: the id of the last dead letter before the
   * page. Undefined for the first page.
   */
  const [starts, setStarts] = useState<readonly (string | undefined)[]>([undefined]);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const after = starts.at(-1);
  const { value, error, reload } = useResource(
    () =>
      client.call("GET /v2/dead-letters", {
        query: { ...filter, count: PAGE_ITEMS, ...(after !== undefined && { after }) },
      }),
    [filter, after],
  );
  const letters = value?.deadLetters;
  const restart = async () => {
    setSelected(new Set());
    setStarts([undefined]);
    await reload();
  };
  const toggle = (id: string) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  };
  const isPageSelected = letters?.every(({ id }) => selected.has(id)) === true;
  const { destinationId } = filter;
  const total = value?.paging.total ?? 0;
  return (
    <>
      <ScreenHeader
        title={filter.groupId ? (letters?.[0]?.reason ?? "Dead letters") : "All dead letters"}
        parent={{ href: hrefTo("dead-letters", { destinationId }), text: "Dead letters" }}
      />
      <ErrorNotice error={error} retry={reload} />
      <div class="bulk">
        {selected.size > 0 ? (
          <BulkActions
            ids={[...selected]}
            total={selected.size}
            description={`${selected.size} selected`}
            reload={restart}
          />
        ) : (
          total > 0 && (
            <BulkActions
              filter={filter}
              total={total}
              description={`all ${formatCount(total)}`}
              reload={restart}
            />
          )
        )}
      </div>
      <Panel flush>
        <Table
          label="Dead letters"
          columns={columnsOf(names, selected, toggle)}
          rows={letters}
          keyOf={({ id }) => id}
          empty={
            <EmptyState
              icon="check"
              title="No dead letters"
              action={
                <a class="button" href={hrefTo("dead-letters")}>
                  All reasons
                </a>
              }
            >
              They were replayed or purged.
            </EmptyState>
          }
        />
        {letters !== undefined && letters.length > 0 && (
          <nav class="pages" aria-label="Pages">
            <span class="row">
              <Button
                kind="plain"
                compact
                onClick={() =>
                  setSelected(new Set(isPageSelected ? [] : letters.map(({ id }) => id)))
                }
              >
                {isPageSelected ? "Clear selection" : "Select page"}
              </Button>
              <span class="tabular">{pluralize(total, "event")}, oldest first</span>
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

function columnsOf(
  names: NameLookup,
  selected: ReadonlySet<string>,
  toggle: (id: string) => void,
): Column<DeadLetter>[] {
  return [
    {
      title: "",
      kind: "narrow",
      cell: ({ id, event }) => (
        <input
          type="checkbox"
          aria-label={`Select ${eventName(event)}`}
          checked={selected.has(id)}
          onChange={() => toggle(id)}
        />
      ),
    },
    {
      title: "Event",
      kind: "name",
      cell: ({ id, event }) => (
        <a class="cut" href={hrefTo("dead-letters", id)}>
          {eventName(event)}
        </a>
      ),
    },
    { title: "Reason", cell: ({ reason }) => <span class="clamp bad">{reason}</span> },
    { title: "From", cell: ({ sourceId }) => names.source(sourceId) },
    { title: "To", cell: ({ destinationId }) => names.destination(destinationId) },
    { title: "Attempts", kind: "number narrow", cell: ({ attempts }) => formatCount(attempts) },
    { title: "Failed at", kind: "narrow", cell: ({ createdAt }) => <Time at={createdAt} /> },
  ];
}
