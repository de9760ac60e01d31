import { useEffect, useMemo, useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { FilterSelect } from "../components/filter-select.tsx";
import { optionsOf } from "../components/forms/fields.tsx";
import { Badge, EmptyState, Panel, ScreenHeader } from "../components/layout.tsx";
import { SearchField } from "../components/search-field.tsx";
import { useNames } from "../data/use-names.ts";
import { formatCompact, formatCount, formatRate } from "../format.ts";
import { hrefTo, replaceQuery, type ScreenProps } from "../router.ts";
import type { TailEvent } from "./event-buffer.ts";
import { EventDialog } from "./event-dialog.tsx";
import { TailTable } from "./tail-table.tsx";
import { type TailState, useTail } from "./use-tail.ts";

const SHOWN_MAX = 200;
const outcomeOptions = [
  { value: "delivered", text: "Delivered" },
  { value: "dropped", text: "Dropped by transformation" },
  { value: "dead-letter", text: "Dead letters" },
  { value: "under-way", text: "In flight" },
];

/** Screen of the live tail. It shows events as they arrive, with their results at destinations. */
export function Screen({ query }: ScreenProps) {
  const names = useNames();
  const sourceId = query.get("sourceId") ?? "";
  const destinationId = query.get("destinationId") ?? "";
  const outcome = query.get("outcome") ?? "";
  const [text, setText] = useState("");
  const [isPaused, setPaused] = useState(false);
  const [openId, setOpenId] = useState<string>();
  const filter = { ...(sourceId && { sourceId }), ...(destinationId && { destinationId }) };
  const tail = useTail(filter, isPaused);
  const { buffer, tick } = tail;
  const lowerCase = text.trim().toLowerCase();
  const events = useMemo(
    () =>
      buffer.latest(
        SHOWN_MAX,
        (event, textOf) =>
          hasOutcome(event, outcome) && (!lowerCase || textOf().includes(lowerCase)),
      ),
    [tick, lowerCase, outcome, sourceId, destinationId],
  );
  const openEvent = useOpenEvent(openId, tail);

  return (
    <>
      <ScreenHeader title="Live tail" status={<TailStateBadge tail={tail} isPaused={isPaused} />}>
        <Button
          icon={isPaused ? "play" : "pause"}
          pressed={isPaused}
          onClick={() => setPaused(!isPaused)}
        >
          {isPaused ? "Resume" : "Pause"}
        </Button>
      </ScreenHeader>
      {tail.state === "ended" && (
        <ErrorNotice
          error={tail.error ?? new Error("The tail ended; reconnecting")}
          retry={tail.reconnect}
        />
      )}
      <Panel flush>
        <header>
          <SearchField label="Search events" value={text} onInput={setText} />
          <FilterSelect
            label="Source"
            all="All sources"
            value={sourceId}
            options={optionsOf(names.sources)}
            onChange={(id) => replaceQuery({ sourceId: id })}
          />
          <FilterSelect
            label="Destination"
            all="All destinations"
            value={destinationId}
            options={optionsOf(names.destinations)}
            onChange={(id) => replaceQuery({ destinationId: id })}
          />
          <FilterSelect
            label="Outcome"
            all="All outcomes"
            value={outcome}
            options={outcomeOptions}
            onChange={(value) => replaceQuery({ outcome: value })}
          />
        </header>
        {events.length === 0 ? (
          <NoEvents isFiltered={buffer.size > 0} />
        ) : (
          <TailTable events={events} names={names} open={setOpenId} />
        )}
        <p class="pages">
          <span>
            The latest {formatCount(events.length)} of {formatCount(buffer.size)} buffered
          </span>
          {tail.missed > 0 && <span class="warn">{formatCompact(tail.missed)} skipped</span>}
        </p>
      </Panel>
      {openEvent && (
        <EventDialog event={openEvent} names={names} onClose={() => setOpenId(undefined)} />
      )}
    </>
  );
}

/**
 * Returns the event in the open dialog, in its latest state. The event remains available after
 * newer events have displaced it from the buffer.
 */
function useOpenEvent(id: string | undefined, { buffer, tick }: TailState): TailEvent | undefined {
  const [event, setEvent] = useState<TailEvent>();
  useEffect(() => {
    const [buffered] = buffer.latest(1, ({ messageId }) => messageId === id);
    if (buffered !== undefined) setEvent(buffered);
  }, [id, tick]);
  return event?.messageId === id ? event : undefined;
}

function hasOutcome({ outcomes }: TailEvent, outcome: string): boolean {
  if (outcome === "") return true;
  if (outcome === "under-way") return outcomes.length === 0;
  return outcomes.some(({ stage }) => stage === outcome);
}

function TailStateBadge(props: { tail: TailState; isPaused: boolean }) {
  const { state, perSecond } = props.tail;
  if (state === "connecting") return <Badge>Connecting</Badge>;
  if (state === "ended") return <Badge tone="bad">Not connected</Badge>;
  if (props.isPaused) return <Badge tone="warn">Paused</Badge>;
  return (
    <Badge tone="good">
      <span class="tabular">{formatRate(perSecond)}</span>
    </Badge>
  );
}

function NoEvents({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <EmptyState icon="search" title="No matches">
        New events that match appear here.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon="tail"
      title="Waiting for events"
      action={
        <a class="button" href={hrefTo("sources")}>
          Send a test event from a source
        </a>
      }
    >
      Events appear here when they are received, delivered, dropped or failed.
    </EmptyState>
  );
}
