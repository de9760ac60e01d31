import { useEffect, useMemo, useState } from "preact/hooks";
import { useNames } from "../every.ts";
import { Button } from "../parts/button.tsx";
import { Fault } from "../parts/fault.tsx";
import { Badge, Empty, Head, Panel } from "../parts/layout.tsx";
import { Search } from "../parts/search.tsx";
import { replaceQuery, type ScreenProps, to } from "../router.ts";
import { brief, count, rate } from "../text.ts";
import type { Passing } from "./flow.ts";
import { type Following, useFollowing } from "./following.ts";
import { Opened } from "./opened.tsx";
import { PassingTable } from "./table.tsx";

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
  const following = useFollowing(filter, isPaused);
  const { flow, tick } = following;
  const wanted = text.trim().toLowerCase();
  const events = useMemo(
    () =>
      flow.latest(
        SHOWN_MAX,
        (passing, textOf) => ends(passing, outcome) && (!wanted || textOf().includes(wanted)),
      ),
    [tick, wanted, outcome, sourceId, destinationId],
  );
  const opened = useOpened(openedId, following);

  return (
    <>
      <Head title="Live tail" beside={<State following={following} isPaused={isPaused} />}>
        <Button
          icon={isPaused ? "play" : "pause"}
          pressed={isPaused}
          onClick={() => setPaused(!isPaused)}
        >
          {isPaused ? "Go on" : "Pause"}
        </Button>
      </Head>
      {following.state === "ended" && (
        <Fault
          error={following.error ?? new Error("The tail ended; it is asked for again")}
          retry={following.again}
        />
      )}
      <Panel flush>
        <header>
          <Search label="Find in the events" value={text} onInput={setText} />
          <Choice label="Source" all="All sources" name="sourceId" value={sourceId}>
            {names.sources}
          </Choice>
          <Choice
            label="Destination"
            all="All destinations"
            name="destinationId"
            value={destinationId}
          >
            {names.destinations}
          </Choice>
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
          <Nothing isFiltered={flow.size > 0} />
        ) : (
          <PassingTable events={events} names={names} open={setOpenedId} />
        )}
        <p class="pages">
          <span>
            The latest {count(events.length)} of {count(flow.size)} remembered
          </span>
          {following.missed > 0 && (
            <span class="warn">{brief(following.missed)} came too fast to be shown</span>
          )}
        </p>
      </Panel>
      {opened && <Opened passing={opened} names={names} onClose={() => setOpenedId(undefined)} />}
    </>
  );
}

/** The event that is open stays open when newer ones push it out. */
function useOpened(id: string | undefined, { flow, tick }: Following): Passing | undefined {
  const [kept, setKept] = useState<Passing>();
  useEffect(() => {
    const [found] = flow.latest(1, ({ messageId }) => messageId === id);
    if (found !== undefined) setKept(found);
  }, [id, tick]);
  return kept?.messageId === id ? kept : undefined;
}

function ends({ outcomes: its }: Passing, wanted: string): boolean {
  if (wanted === "") return true;
  if (wanted === "under-way") return its.length === 0;
  return its.some(({ stage }) => stage === wanted);
}

function State({ following, isPaused }: { following: Following; isPaused: boolean }) {
  const { state, perSecond } = following;
  if (state === "connecting") return <Badge>Connecting</Badge>;
  if (state === "ended") return <Badge tone="bad">Not connected</Badge>;
  if (isPaused) return <Badge tone="warn">Paused</Badge>;
  return (
    <Badge tone="good">
      <span class="tabular">{rate(perSecond)}</span>
    </Badge>
  );
}

function Choice(props: {
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

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty icon="search" title="No event of the latest fits">
        Newer ones are shown as they come.
      </Empty>
    );
  }
  return (
    <Empty
      icon="tail"
      title="Waiting for events"
      action={
        <a class="button" href={to("sources")}>
          Send a test event from a source
        </a>
      }
    >
      Events show here the moment they are received, delivered, dropped or given up.
    </Empty>
  );
}
