import { useState } from "preact/hooks";
import { nameOf } from "../event-name.ts";
import { useNames } from "../every.ts";
import { useLoaded } from "../loaded.ts";
import { Button } from "../parts/button.tsx";
import { Fault } from "../parts/fault.tsx";
import { Empty, Head, Panel } from "../parts/layout.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { to } from "../router.ts";
import { client } from "../session.ts";
import { count, plural } from "../text.ts";
import { Bulk } from "./bulk.tsx";
import type { DeadLetter } from "./groups.ts";

const PAGE_ITEMS = 50;

/** Dead letters of a group, of a destination, or all: the oldest first. */
export function LetterList({ filter }: { filter: { groupId?: string; destinationId?: string } }) {
  const names = useNames();
  /** Ids that the pages begin after, the first page's being undefined. */
  const [starts, setStarts] = useState<readonly (string | undefined)[]>([undefined]);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const after = starts.at(-1);
  const { value, error, reload } = useLoaded(
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
  const columns: Column<DeadLetter>[] = [
    {
      title: "",
      kind: "narrow",
      cell: ({ id, event }) => (
        <input
          type="checkbox"
          aria-label={`Choose ${nameOf(event)}`}
          checked={chosen.has(id)}
          onChange={() => toggle(id)}
        />
      ),
    },
    {
      title: "Event",
      kind: "name",
      cell: ({ id, event }) => (
        <a class="cut" href={to("dead-letters", id)}>
          {nameOf(event)}
        </a>
      ),
    },
    { title: "Reason", cell: ({ reason }) => <span class="clamp bad">{reason}</span> },
    { title: "From", cell: ({ sourceId }) => names.source(sourceId) },
    { title: "To", cell: ({ destinationId }) => names.destination(destinationId) },
    { title: "Attempts", kind: "number narrow", cell: ({ attempts }) => count(attempts) },
    { title: "Given up", kind: "narrow", cell: ({ createdAt }) => <Time at={createdAt} /> },
  ];
  const { destinationId } = filter;
  const total = value?.paging.total;
  return (
    <>
      <Head
        title={filter.groupId ? (letters?.[0]?.reason ?? "Dead letters") : "All dead letters"}
        way={{ href: to("dead-letters", { destinationId }), text: "Dead letters" }}
      />
      <Fault error={error} retry={reload} />
      <div class="bulk">
        {chosen.size > 0 ? (
          <Bulk
            ids={[...chosen]}
            total={chosen.size}
            what={`the ${chosen.size} chosen`}
            changed={changed}
          />
        ) : (
          total !== undefined &&
          total > 0 && (
            <Bulk filter={filter} total={total} what={`all ${count(total)}`} changed={changed} />
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
            <Empty
              icon="check"
              title="None is left"
              action={
                <a class="button" href={to("dead-letters")}>
                  All reasons
                </a>
              }
            >
              They were replayed or purged.
            </Empty>
          }
        />
        {letters !== undefined && letters.length > 0 && (
          <nav class="pages" aria-label="Pages">
            <span class="row">
              <Button
                kind="plain"
                tight
                onClick={() => setChosen(isWhole ? new Set() : new Set(letters.map((it) => it.id)))}
              >
                {isWhole ? "Choose none" : "Choose this page"}
              </Button>
              <span class="tabular">{plural(total ?? 0, "event")}, oldest first</span>
            </span>
            <span class="row">
              <Button
                tight
                icon="left"
                label="Page before"
                unless={starts.length === 1 ? "This is the first page" : undefined}
                onClick={() => setStarts(starts.slice(0, -1))}
              />
              <Button
                tight
                icon="right"
                label="Next page"
                unless={value?.paging.next === undefined ? "This is the last page" : undefined}
                onClick={() => setStarts([...starts, letters.at(-1)?.id])}
              />
            </span>
          </nav>
        )}
      </Panel>
    </>
  );
}
