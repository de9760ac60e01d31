import { useEffect, useMemo, useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Badge, EmptyState, Panel, ScreenHeader } from "../components/layout.tsx";
import { SearchField } from "../components/search-field.tsx";
import { useNames } from "../data/list-all.ts";
import { formatCompact, formatCount, formatRate } from "../format.ts";
import { hrefTo, replaceQuery, type ScreenProps } from "../router.ts";
import type { TailEvent } from "./event-buffer.ts";
import { EventDialog } from "./event-dialog.tsx";
import { TailTable } from "./tail-table.tsx";
import { type TailState, useTail } from "./use-tail.ts";

const SHOWN_MAX = 200;
const outcomes = [
  { value: "", text: "Every outcome" },
  { value: "delivered", text: "Delivered" },
  { value: "dropped", text: "Dropped by code" },
  { value: "dead-letter", text: "Dead letters" },
  { value: "under-way", text: "Still under way" },
];

/** Events as they come, and what becomes of each. */
export function Screen({ query }: ScreenProps) {
  const names = useNames();
  const sourceId = query.get("sourceId") ?? "";
  const destinationId = query.get("destinationId") ?? "";
  const outcome = query.get("outcome") ?? "";
  const [text, setText] = useState("");
  const [isPaused, setPaused] = useState(false);
  const [openedId, setOpenedId] = useState<string>();
  const filter = { ...(sourceId && { sourceId }), ...(destinationId && { destinationId }) };
  const following = useTail(filter, isPaused);
  const { buffer, tick } = following;
  const wanted = text.trim().toLowerCase();
  const events = useMemo(
    () =>
      buffer.latest(
        SHOWN_MAX,
        (passing, textOf) => hasOutcome(passing, outcome) && (!wanted || textOf().includes(wanted)),
      ),
    [tick, wanted, outcome, sourceId, destinationId],
  );
  const opened = useOpenEvent(openedId, following);

  return (
    <>
      <ScreenHeader
        title="Live tail"
        beside={<TailStateBadge following={following} isPaused={isPaused} />}
      >
        <Button
          icon={isPaused ? "play" : "pause"}
          pressed={isPaused}
          onClick={() => setPaused(!isPaused)}
        >
          {isPaused ? "Go on" : "Pause"}
        </Button>
      </ScreenHeader>
      {following.state === "ended" && (
        <ErrorNotice
          error={following.error ?? new Error("The tail ended; it is asked for again")}
          retry={following.reconnect}
        />
      )}
      <Panel flush>
        <header>
          <SearchField label="Find in the events" value={text} onInput={setText} />
          <NameFilter label="Source" all="All sources" name="sourceId" value={sourceId}>
            {names.sources}
          </NameFilter>
          <NameFilter
            label="Destination"
            all="All destinations"
            name="destinationId"
            value={destinationId}
          >
            {names.destinations}
          </NameFilter>
          <select
            aria-label="Outcome"
            value={outcome}
            onChange={({ currentTarget }) => replaceQuery({ outcome: currentTarget.value })}
          >
            {outcomes.map(({ value, text: shown }) => (
              <option key={value} value={value}>
                {shown}
              </option>
            ))}
          </select>
        </header>
        {events.length === 0 ? (
          <NoEvents isFiltered={buffer.size > 0} />
        ) : (
          <TailTable events={events} names={names} open={setOpenedId} />
        )}
        <p class="pages">
          <span>
            The latest {formatCount(events.length)} of {formatCount(buffer.size)} remembered
          </span>
          {following.missed > 0 && (
            <span class="warn">{formatCompact(following.missed)} came too fast to be shown</span>
          )}
        </p>
      </Panel>
      {opened && (
        <EventDialog passing={opened} names={names} onClose={() => setOpenedId(undefined)} />
      )}
    </>
  );
}

/** The event that is open stays open when newer ones push it out. */
function useOpenEvent(id: string | undefined, { buffer, tick }: TailState): TailEvent | undefined {
  const [kept, setKept] = useState<TailEvent>();
  useEffect(() => {
    const [found] = buffer.latest(1, ({ messageId }) => messageId === id);
    if (found !== undefined) setKept(found);
  }, [id, tick]);
  return kept?.messageId === id ? kept : undefined;
}

function hasOutcome({ outcomes: its }: TailEvent, wanted: string): boolean {
  if (wanted === "") return true;
  if (wanted === "under-way") return its.length === 0;
  return its.some(({ stage }) => stage === wanted);
}

function TailStateBadge({ following, isPaused }: { following: TailState; isPaused: boolean }) {
  const { state, perSecond } = following;
  if (state === "connecting") return <Badge>Connecting</Badge>;
  if (state === "ended") return <Badge tone="bad">Not connected</Badge>;
  if (isPaused) return <Badge tone="warn">Paused</Badge>;
  return (
    <Badge tone="good">
      <span class="tabular">{formatRate(perSecond)}</span>
    </Badge>
  );
}

function NameFilter(props: {
  label: string;
  all: string;
  name: string;
  value: string;
  children: readonly { id: string; name: string }[];
}) {
  const { label, all, name, value, children } = props;
  const isListed = value === "" || children.some(({ id }) => id === value);
  return (
    <select
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => replaceQuery({ [name]: currentTarget.value })}
    >
      <option value="">{all}</option>
      {!isListed && <option value={value}>{value}</option>}
      {children.map((it) => (
        <option key={it.id} value={it.id}>
          {it.name}
        </option>
      ))}
    </select>
  );
}

function NoEvents({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <EmptyState icon="search" title="No event of the latest fits">
        Newer ones are shown as they come.
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
      Events show here the moment they are received, delivered, dropped or given up.
    </EmptyState>
  );
}
