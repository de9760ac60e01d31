import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Panel, SegmentedControl } from "../components/layout.tsx";
import { sampleEvents } from "../data/sample-events.ts";
import { client } from "../data/session.ts";
import { CodeEditor } from "../editor/code-editor.tsx";
import { numberedEventName } from "./run-results.tsx";
import type { Editor } from "./use-editor.ts";

type JsonObject = Record<string, unknown>;

/** Editor of the test events. The user types them, or copies real events. */
export function TestEvents(props: {
  editor: Editor;
  /**
   * Called with each list of real events that the panel loads. Code completion then offers the
   * fields of these events.
   */
  onRealEvents: (events: readonly unknown[]) => void;
}) {
  const { events: text, setEvents: setText, eventsError, run, save } = props.editor;
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
            Use real events
          </Button>
          <Button
            compact
            kind="plain"
            disabledReason={text === "" ? "Using default events" : undefined}
            onClick={() => setText("")}
          >
            Clear
          </Button>
        </>
      }
    >
      <CodeEditor
        label="Test events as JSON"
        language="json"
        value={text}
        onChange={setText}
        onRun={run}
        onSave={save}
      />
      {eventsError ? (
        <p class="wrong bad">{eventsError}</p>
      ) : (
        <p class="quiet small">
          One event or an array of events, as JSON. Default: one page and one track event.
        </p>
      )}
      {isOpen && (
        <RealEvents
          onClose={() => setOpen(false)}
          onRealEvents={props.onRealEvents}
          onSelect={(events) => {
            setText(JSON.stringify(events.length === 1 ? events[0] : events, null, 2));
            setOpen(false);
          }}
        />
      )}
    </Panel>
  );
}

/** Maximum number of real events that the dialog offers. */
const EVENTS_MAX = 50;

function RealEvents(props: {
  onClose: () => void;
  onSelect: (events: JsonObject[]) => void;
  onRealEvents: (events: readonly unknown[]) => void;
}) {
  const [origin, setOrigin] = useState<EventOrigin>(
    sampleEvents.value.length > 0 ? "samples" : "tail",
  );
  const [events, setEvents] = useState<readonly JsonObject[]>([]);
  const [error, setError] = useState<unknown>();
  const [selected, setSelected] = useState<ReadonlySet<JsonObject>>(new Set());
  const onRealEvents = useRef(props.onRealEvents);
  onRealEvents.current = props.onRealEvents;

  useEffect(() => {
    const stop = new AbortController();
    setEvents([]);
    setSelected(new Set());
    setError(undefined);
    const add = (event: unknown) => {
      if (typeof event !== "object" || event === null || stop.signal.aborted) return;
      onRealEvents.current([event]);
      setEvents((before) => [event as JsonObject, ...before].slice(0, EVENTS_MAX));
    };
    loadEvents[origin](add, stop.signal).catch((thrown) => {
      if (!stop.signal.aborted) setError(thrown);
    });
    return () => stop.abort();
  }, [origin]);

  const toggle = (event: JsonObject) => {
    const next = new Set(selected);
    if (!next.delete(event)) next.add(event);
    setSelected(next);
  };
  return (
    <Dialog title="Use real events" onClose={props.onClose} broad>
      <SegmentedControl
        label="Origin"
        value={origin}
        options={[
          { value: "tail", text: "Live" },
          { value: "letters", text: "Dead letters" },
          { value: "samples", text: "Saved" },
        ]}
        onChange={setOrigin}
      />
      <ErrorNotice error={error} />
      {events.length === 0 && error === undefined && (
        <p class="quiet" aria-live="polite">
          {emptyTexts[origin]}
        </p>
      )}
      <ol class="events">
        {events.map((event, at) => (
          <li key={events.length - at}>
            <button type="button" aria-pressed={selected.has(event)} onClick={() => toggle(event)}>
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
          disabledReason={selected.size === 0 ? "Select one or more" : undefined}
          onClick={() => props.onSelect(events.filter((event) => selected.has(event)))}
        >
          Use as test events
        </Button>
      </div>
    </Dialog>
  );
}

type EventOrigin = "tail" | "letters" | "samples";

const emptyTexts: Record<EventOrigin, string> = {
  tail: "Waiting for the next event of any source.",
  letters: "No dead letters.",
  samples: "No saved events: save one in the live tail or from a dead letter.",
};

type AddEvent = (event: unknown) => void;

const loadEvents: Record<EventOrigin, (add: AddEvent, signal: AbortSignal) => Promise<void>> = {
  async tail(add, signal) {
    for await (const { name, data } of client.follow({}, signal)) {
      if (name === "received") add(data.event);
    }
  },
  async letters(add) {
    const query = { count: EVENTS_MAX };
    const { deadLetters } = await client.call("GET /v2/dead-letters", { query });
    for (const { event } of deadLetters) add(event);
  },
  async samples(add) {
    for (const event of sampleEvents.value.toReversed()) add(event);
  },
};
