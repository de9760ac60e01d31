import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { textSearch } from "../../event/text-search.ts";
import { LinkButton, PauseButton } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { FilterSelect } from "../components/filter-select.tsx";
import { Badge, EmptyState, Panel, ScreenHeader } from "../components/layout.tsx";
import { NameFilter } from "../components/name-select.tsx";
import { SearchField } from "../components/search-field.tsx";
import { useFirstNames } from "../data/use-names.ts";
import { formatRate } from "../format.ts";
import { hrefTo, replaceQuery, type ScreenProps } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { tailTexts } from "../texts/tail.ts";
import {
  type EventBuffer,
  latestOf,
  searchedText,
  type TailEvent,
  tailEventKey,
} from "./event-buffer.ts";
import { EventDialog } from "./event-dialog.tsx";
import { outcomeOptions, TailTable } from "./tail-table.tsx";
import { type TailState, useTail } from "./use-tail.ts";

const SHOWN_MAX = 200;

/** Screen of the live tail. It shows events as they arrive, with their results at destinations. */
export function Screen({ query }: ScreenProps) {
  useFirstNames();
  const sourceId = query.get("sourceId") ?? "";
  const destinationId = query.get("destinationId") ?? "";
  const outcome = query.get("outcome") ?? "";
  const [text, setText] = useState("");
  const [isPaused, setPaused] = useState(false);
  const [openKey, setOpenKey] = useState<string>();
  const filter = { ...(sourceId && { sourceId }), ...(destinationId && { destinationId }) };
  const tail = useTail(filter);
  const { buffer, tick } = tail;
  const [isHeld, setHeld] = useState(false);
  const frozen = useFrozen(buffer, isPaused || isHeld);
  const trimmed = text.trim();
  const events = useMemo(() => {
    const holdsText = textSearch(trimmed);
    return latestOf(
      frozen?.events ?? buffer.all(),
      SHOWN_MAX,
      (event) =>
        isOf(event, filter) &&
        hasOutcome(event, outcome) &&
        (trimmed === "" || holdsText(searchedText(event))),
    );
  }, [tick, frozen, trimmed, outcome, sourceId, destinationId]);
  const openEvent = useOpenEvent(openKey, tail);

  return (
    <>
      <ScreenHeader
        title={commonTexts.liveTail}
        status={<TailStateBadge tail={tail} frozen={frozen} isPaused={isPaused} />}
      >
        <PauseButton isPaused={isPaused} onPause={setPaused} />
      </ScreenHeader>
      {tail.state === "ended" && (
        <ErrorNotice error={tail.error ?? new Error(tailTexts.ended)} retry={tail.reconnect} />
      )}
      <Panel flush>
        <header>
          <SearchField label={tailTexts.searchEvents} value={text} onInput={setText} />
          <NameFilter
            kind="source"
            label={commonTexts.source}
            none={commonTexts.allSources}
            value={sourceId}
            onChange={(id) => replaceQuery({ sourceId: id })}
          />
          <NameFilter
            kind="destination"
            label={commonTexts.destination}
            none={commonTexts.allDestinations}
            value={destinationId}
            onChange={(id) => replaceQuery({ destinationId: id })}
          />
          <FilterSelect
            label={commonTexts.outcome}
            all={commonTexts.allOutcomes}
            value={outcome}
            options={outcomeOptions}
            onChange={(value) => replaceQuery({ outcome: value })}
          />
        </header>
        {events.length === 0 ? (
          <NoEvents isFiltered={buffer.size > 0} state={tail.state} />
        ) : (
          <TailTable events={events} open={setOpenKey} onHold={setHeld} />
        )}
        <p class="pages">
          <span>{tailTexts.shown(events.length, buffer.size)}</span>
          {tail.missed > 0 && <span class="warn">{tailTexts.skipped(tail.missed)}</span>}
        </p>
      </Panel>
      {openEvent && <EventDialog event={openEvent} onClose={() => setOpenKey(undefined)} />}
    </>
  );
}

/**
 * Returns the event that the dialog shows. This is its latest state in the buffer or, if newer
 * events have displaced it there, its last state before that.
 */
function useOpenEvent(key: string | undefined, { buffer, tick }: TailState): TailEvent | undefined {
  const [event, setEvent] = useState<TailEvent>();
  useEffect(() => {
    const buffered = key === undefined ? undefined : buffer.get(key);
    if (buffered !== undefined) setEvent(buffered);
  }, [key, tick]);
  return event && tailEventKey(event) === key ? event : undefined;
}

/** The events that the screen shows while the tail is paused. New events go only to the buffer. */
interface FrozenEvents {
  events: readonly TailEvent[];
  /** Value of the buffer's `added` when the pause began, to count the new events since then. */
  added: number;
}

/**
 * Returns the events that were in the buffer when `isFrozen` became true. Undefined while it is
 * false.
 */
function useFrozen(buffer: EventBuffer, isFrozen: boolean): FrozenEvents | undefined {
  const frozen = useRef<FrozenEvents | undefined>(undefined);
  if (!isFrozen) frozen.current = undefined;
  else frozen.current ??= { events: buffer.all(), added: buffer.added };
  return frozen.current;
}

/**
 * Whether an event is of the source in `filter`, and has an outcome at the destination in `filter`.
 * An absent id matches every event. Needed because a paused tail may still have events of an
 * earlier filter.
 */
function isOf(event: TailEvent, filter: { sourceId?: string; destinationId?: string }): boolean {
  const { sourceId = event.sourceId, destinationId } = filter;
  if (event.sourceId !== sourceId) return false;
  return (
    destinationId === undefined || event.outcomes.some((it) => it.destinationId === destinationId)
  );
}

function hasOutcome({ outcomes, hasAllOutcomes }: TailEvent, wanted: string): boolean {
  if (wanted === "") return true;
  const isNew = outcomes.length === 0 && !hasAllOutcomes;
  return (wanted === "in-flight" && isNew) || outcomes.some((it) => it.outcome === wanted);
}

function TailStateBadge(props: {
  tail: TailState;
  frozen: FrozenEvents | undefined;
  /** Whether the pause button is on; false if only the pointer or focus in the table pauses. */
  isPaused: boolean;
}) {
  const { tail, frozen, isPaused } = props;
  const { state, perSecond, buffer } = tail;
  if (state === "connecting") return <Badge>{tailTexts.notOpen.connecting.title}</Badge>;
  if (state === "ended") return <Badge tone="bad">{tailTexts.notOpen.ended.title}</Badge>;
  if (frozen) {
    const text = isPaused ? tailTexts.pausedWith : tailTexts.heldWith;
    return <Badge tone="warn">{text(buffer.added - frozen.added)}</Badge>;
  }
  return (
    <Badge tone="good">
      <span class="tabular">{formatRate(perSecond)}</span>
    </Badge>
  );
}

function NoEvents({ isFiltered, state }: { isFiltered: boolean; state: TailState["state"] }) {
  if (isFiltered) return <EmptyState icon="search" {...tailTexts.noMatches} />;
  if (state !== "open") return <EmptyState icon="tail" {...tailTexts.notOpen[state]} />;
  const link = <LinkButton href={hrefTo("sources")}>{tailTexts.sendTestEvent}</LinkButton>;
  return <EmptyState icon="tail" {...tailTexts.noEventsYet} action={link} />;
}
