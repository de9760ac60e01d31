import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Panel, SegmentedControl } from "../components/layout.tsx";
import { sampleEvents } from "../data/sample-events.ts";
import { client } from "../data/session.ts";
import { CodeEditor } from "../editor/code-editor.tsx";
import { numberedEventName } from "./run-results.tsx";

type JsonObject = Record<string, unknown>;

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
          <Button
            compact
            kind="plain"
            icon="tail"
            needs="events:read"
            onClick={() => setOpen(true)}
          >
            Take real events
          </Button>
          <Button
            compact
            kind="plain"
            disabledReason={text === "" ? "There are the default events" : undefined}
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
  onTake: (events: JsonObject[]) => void;
  onSeen: (events: readonly unknown[]) => void;
}) {
  const [from, setFrom] = useState<EventOrigin>(sampleEvents.value.length > 0 ? "picked" : "tail");
  const [events, setEvents] = useState<readonly JsonObject[]>([]);
  const [error, setError] = useState<unknown>();
  const [chosen, setChosen] = useState<ReadonlySet<JsonObject>>(new Set());
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
      setEvents((before) => [event as JsonObject, ...before].slice(0, TAIL_EVENTS));
    };
    const source = loadEvents[from](add, stop.signal);
    source.catch((fault) => {
      if (!stop.signal.aborted) setError(fault);
    });
    return () => stop.abort();
  }, [from]);

  const toggle = (event: JsonObject) => {
    const next = new Set(chosen);
    if (!next.delete(event)) next.add(event);
    setChosen(next);
  };
  return (
    <Dialog title="Take real events" onClose={props.onClose} broad>
      <SegmentedControl
        label="Where from"
        value={from}
        options={[
          { value: "tail", text: "Coming in now" },
          { value: "letters", text: "Dead letters" },
          { value: "picked", text: "Picked" },
        ]}
        onChange={setFrom}
      />
      <ErrorNotice error={error} />
      {events.length === 0 && error === undefined && (
        <p class="quiet" aria-live="polite">
          {emptyTexts[from]}
        </p>
      )}
      <ol class="events">
        {events.map((event, at) => (
          <li key={events.length - at}>
            <button type="button" aria-pressed={chosen.has(event)} onClick={() => toggle(event)}>
              <span class="cut">{numberedEventName(event, at)}</span>
              <code class="quiet cut">{JSON.stringify(event.properties ?? {})}</code>
            </button>
          </li>
        ))}
      </ol>
      <div class="ends">
        <Button onClick={props.onClose}>Cancel</Button>
        <Button
          kind="main"
          disabledReason={chosen.size === 0 ? "Choose one or more" : undefined}
          onClick={() => props.onTake(events.filter((event) => chosen.has(event)))}
        >
          Use as test events
        </Button>
      </div>
    </Dialog>
  );
}

type EventOrigin = "tail" | "letters" | "picked";

const emptyTexts: Record<EventOrigin, string> = {
  tail: "Waiting for the next event of any source. Send one, and it is here.",
  letters: "There is no dead letter.",
  picked: "None was picked yet: the live tail and dead letters have a button for it.",
};

type Add = (event: unknown) => void;

const loadEvents: Record<EventOrigin, (add: Add, signal: AbortSignal) => Promise<void>> = {
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
    for (const { event } of sampleEvents.value.toReversed()) add(event);
  },
};
