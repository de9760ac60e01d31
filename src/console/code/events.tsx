import { useEffect, useRef, useState } from "preact/hooks";
import { CodeEditor } from "../editor/code-editor.tsx";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Fault } from "../parts/fault.tsx";
import { Panel, Segments } from "../parts/layout.tsx";
import { picked } from "../picked.ts";
import { client } from "../session.ts";
import { nameOf } from "./results.tsx";

type Event = Record<string, unknown>;

/** What the code is run over: typed in, or taken from what comes in or was not delivered. */
export function TestEvents(props: {
  text: string;
  wrong: string | undefined;
  onChange: (text: string) => void;
  onRun: () => void;
  onSave: () => void;
  /** Events that were seen, for completion. */
  onSeen: (events: readonly unknown[]) => void;
}) {
  const { text, wrong, onChange, onRun, onSave, onSeen } = props;
  const [isOpen, setOpen] = useState(false);
  return (
    <Panel
      title="Test events"
      actions={
        <>
          <Button tight kind="plain" icon="tail" needs="events:read" onClick={() => setOpen(true)}>
            Take real events
          </Button>
          <Button
            tight
            kind="plain"
            unless={text === "" ? "There are the default events" : undefined}
            onClick={() => onChange("")}
          >
            Clear
          </Button>
        </>
      }
    >
      <CodeEditor
        {...{ label: "Test events as JSON", language: "json", value: text }}
        {...{ onChange, onRun, onSave }}
      />
      {wrong ? (
        <p class="wrong bad">{wrong}</p>
      ) : (
        <p class="quiet small">
          One event, or an array of events, as JSON. Without any, a page and a track are used.
        </p>
      )}
      {isOpen && (
        <RealEvents
          onClose={() => setOpen(false)}
          onSeen={onSeen}
          onTake={(events) => {
            onChange(JSON.stringify(events.length === 1 ? events[0] : events, null, 2));
            setOpen(false);
          }}
        />
      )}
    </Panel>
  );
}

/** Events of the live tail that are kept to choose from. */
const TAIL_EVENTS = 50;
const LETTERS = 50;

function RealEvents(props: {
  onClose: () => void;
  onTake: (events: Event[]) => void;
  onSeen: (events: readonly unknown[]) => void;
}) {
  const [from, setFrom] = useState<From>(picked.value.length > 0 ? "picked" : "tail");
  const [events, setEvents] = useState<readonly Event[]>([]);
  const [error, setError] = useState<unknown>();
  const [chosen, setChosen] = useState<ReadonlySet<Event>>(new Set());
  const seen = useRef(props.onSeen);
  seen.current = props.onSeen;

  useEffect(() => {
    const stop = new AbortController();
    setEvents([]);
    setChosen(new Set());
    setError(undefined);
    const add = (event: unknown) => {
      if (typeof event !== "object" || event === null || stop.signal.aborted) return;
      seen.current([event]);
      setEvents((before) => [event as Event, ...before].slice(0, TAIL_EVENTS));
    };
    const source = sources[from](add, stop.signal);
    source.catch((fault) => {
      if (!stop.signal.aborted) setError(fault);
    });
    return () => stop.abort();
  }, [from]);

  const toggle = (event: Event) => {
    const next = new Set(chosen);
    if (!next.delete(event)) next.add(event);
    setChosen(next);
  };
  return (
    <Dialog title="Take real events" onClose={props.onClose} broad>
      <Segments
        label="Where from"
        value={from}
        options={[
          { value: "tail", text: "Coming in now" },
          { value: "letters", text: "Dead letters" },
          { value: "picked", text: "Picked" },
        ]}
        onChange={setFrom}
      />
      <Fault error={error} />
      {events.length === 0 && error === undefined && (
        <p class="quiet" aria-live="polite">
          {nothing[from]}
        </p>
      )}
      <ol class="events">
        {events.map((event, at) => (
          <li key={events.length - at}>
            <button type="button" aria-pressed={chosen.has(event)} onClick={() => toggle(event)}>
              <span class="cut">{nameOf(event, at)}</span>
              <code class="quiet cut">{JSON.stringify(event.properties ?? {})}</code>
            </button>
          </li>
        ))}
      </ol>
      <div class="ends">
        <Button onClick={props.onClose}>Cancel</Button>
        <Button
          kind="main"
          unless={chosen.size === 0 ? "Choose one or more" : undefined}
          onClick={() => props.onTake(events.filter((event) => chosen.has(event)))}
        >
          Use as test events
        </Button>
      </div>
    </Dialog>
  );
}

type From = "tail" | "letters" | "picked";

const nothing: Record<From, string> = {
  tail: "Waiting for the next event of any source. Send one, and it is here.",
  letters: "There is no dead letter.",
  picked: "None was picked yet: the live tail and dead letters have a button for it.",
};

type Add = (event: unknown) => void;

const sources: Record<From, (add: Add, signal: AbortSignal) => Promise<void>> = {
  async tail(add, signal) {
    for await (const { name, data } of client.follow({}, signal)) {
      if (name === "received") add(data.event);
    }
  },
  async letters(add) {
    const query = { count: LETTERS };
    const { deadLetters } = await client.call("GET /v2/dead-letters", { query });
    for (const { event } of deadLetters) add(event);
  },
  async picked(add) {
    for (const { event } of picked.value.toReversed()) add(event);
  },
};
