import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { EmptyState, Panel, ScreenHeader } from "../components/layout.tsx";
import { PageButtons, Table, type TableColumn } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { eventName } from "../data/event-name.ts";
import { useNames } from "../data/list-all.ts";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { formatCount, pluralize } from "../format.ts";
import { hrefTo } from "../router.ts";
import { BulkActions } from "./bulk-actions.tsx";
import type { DeadLetter } from "./letter-groups.ts";

const PAGE_ITEMS = 50;

/** Dead letters of a group, of a destination, or all: the oldest first. */
export function DeadLetterList({
  filter,
}: {
  filter: { groupId?: string; destinationId?: string };
}) {
  const names = useNames();
  /** Ids that the pages begin after, the first page's being undefined. */
  const [starts, setStarts] = useState<readonly (string | undefined)[]>([undefined]);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const after = starts.at(-1);
  const { value, error, reload } = useResource(
    () =>
      client.call("GET /v2/dead-letters", {
        query: { ...filter, count: PAGE_ITEMS, ...(after !== undefined && { after }) },
      }),
    [filter, after],
  );
  const letters = value?.deadLetters;
  const changed = async () => {
    setChosen(new Set());
    setStarts([undefined]);
    await reload();
  };
  const toggle = (id: string) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  const isWhole = letters?.every(({ id }) => chosen.has(id)) === true;
  const columns: TableColumn<DeadLetter>[] = [
    {
      title: "",
      kind: "narrow",
      cell: ({ id, event }) => (
        <input
          type="checkbox"
          aria-label={`Choose ${eventName(event)}`}
          checked={chosen.has(id)}
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
    { title: "Given up", kind: "narrow", cell: ({ createdAt }) => <Time at={createdAt} /> },
  ];
  const { destinationId } = filter;
  const total = value?.paging.total;
  return (
    <>
      <ScreenHeader
        title={filter.groupId ? (letters?.[0]?.reason ?? "Dead letters") : "All dead letters"}
        way={{ href: hrefTo("dead-letters", { destinationId }), text: "Dead letters" }}
      />
      <ErrorNotice error={error} retry={reload} />
      <div class="bulk">
        {chosen.size > 0 ? (
          <BulkActions
            ids={[...chosen]}
            total={chosen.size}
            what={`the ${chosen.size} chosen`}
            changed={changed}
          />
        ) : (
          total !== undefined &&
          total > 0 && (
            <BulkActions
              filter={filter}
              total={total}
              what={`all ${formatCount(total)}`}
              changed={changed}
            />
          )
        )}
      </div>
      <Panel flush>
        <Table
          label="Dead letters"
          columns={columns}
          rows={letters}
          keyOf={({ id }) => id}
          empty={
            <EmptyState
              icon="check"
              title="None is left"
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
                onClick={() => setChosen(isWhole ? new Set() : new Set(letters.map((it) => it.id)))}
              >
                {isWhole ? "Choose none" : "Choose this page"}
              </Button>
              <span class="tabular">{pluralize(total ?? 0, "event")}, oldest first</span>
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
