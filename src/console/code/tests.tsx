import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { type CodeContext, libraries } from "../code-kinds/code-kind.ts";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Panel, SegmentedControl } from "../components/layout.tsx";
import { recentSentEvents } from "../data/recent-events.ts";
import { useRetry } from "../data/retry.ts";
import { sampleEvents } from "../data/sample-events.ts";
import { client } from "../data/session.ts";
import { CodeEditor } from "../editor/code-editor.tsx";
import { replaceQuery } from "../router.ts";
import { EVENT_ROWS_MAX, type JsonObject, useEventRows } from "../testing/event-rows.ts";
import { numberedEventName } from "../testing/run-results.tsx";
import { TestCaseList } from "../testing/test-case-list.tsx";
import { codeTexts, testCaseTexts } from "../texts/code.ts";
import { commonTexts } from "../texts/common.ts";
import type { Editor } from "./use-editor.ts";

/** Editor of the test events of a test run. The user types events, or copies real ones. */
function TestEvents(props: {
  editor: Editor;
  /** Callback for real events that the user loads. Code completion then offers their fields. */
  onRealEvents: (events: readonly unknown[]) => void;
  /** Control for switching to the test cases, shown above the events. Absent for a library. */
  switcher?: ComponentChildren;
}) {
  const { events: text, setEvents: setText, eventsError, run, save } = props.editor;
  const [isOpen, setOpen] = useState(false);
  return (
    <Panel
      title={codeTexts.testEvents}
      actions={
        <>
          <Button
            compact
            kind="plain"
            icon="tail"
            needs="events:read"
            onClick={() => setOpen(true)}
          >
            {codeTexts.useRealEvents}
          </Button>
          <Button
            compact
            kind="plain"
            disabledReason={text === "" ? codeTexts.usingDefaultEvents : undefined}
            onClick={() => setText("")}
          >
            {codeTexts.clear}
          </Button>
        </>
      }
    >
      {props.switcher}
      <CodeEditor
        label={codeTexts.testEventsAsJson}
        language="json"
        value={text}
        onChange={setText}
        onRun={run}
        onSave={save}
      />
      <p class={eventsError ? "wrong" : "quiet small"}>{eventsError || codeTexts.testEventsHint}</p>
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

function RealEvents(props: {
  onClose: () => void;
  onSelect: (events: JsonObject[]) => void;
  onRealEvents: (events: readonly unknown[]) => void;
}) {
  const [origin, setOrigin] = useState<EventOrigin>(
    sampleEvents.value.length > 0 ? "samples" : "tail",
  );
  const [error, setError] = useState<unknown>();
  const { rows, selected, add, toggle, hold, release, clear } = useEventRows();
  const onRealEvents = useRef(props.onRealEvents);
  onRealEvents.current = props.onRealEvents;

  const [attempt, setAttempt] = useState(0);
  useRetry(error, () => setAttempt(attempt + 1));
  const shownOrigin = useRef<EventOrigin>(undefined);
  useEffect(() => {
    const stop = new AbortController();
    // Selected events stay selected when the same list is loaded again after a failure.
    const isNew = shownOrigin.current !== origin || selected.size === 0;
    shownOrigin.current = origin;
    if (isNew) clear();
    setError(undefined);
    const addEvent = (event: unknown) => {
      if (typeof event !== "object" || event === null || stop.signal.aborted) return;
      onRealEvents.current([event]);
      add(event as JsonObject);
    };
    loadEvents[origin](addEvent, stop.signal, isNew).catch((thrown) => {
      if (!stop.signal.aborted) setError(thrown);
    });
    return () => stop.abort();
  }, [origin, attempt]);

  return (
    <Dialog title={codeTexts.useRealEvents} onClose={props.onClose} broad>
      <SegmentedControl
        label={codeTexts.origin}
        value={origin}
        options={[
          { value: "tail", text: codeTexts.live },
          { value: "letters", text: commonTexts.deadLetters },
          { value: "samples", text: codeTexts.saved },
        ]}
        onChange={setOrigin}
      />
      <ErrorNotice error={error} />
      {rows.length === 0 && error === undefined && (
        <p class="quiet" aria-live="polite">
          {emptyTexts[origin]}
        </p>
      )}
      <ol
        class="events steady"
        onPointerEnter={hold}
        onPointerLeave={release}
        onFocusIn={hold}
        onFocusOut={release}
      >
        {rows.map((row, at) => (
          <li key={row.number}>
            <button
              type="button"
              aria-pressed={selected.has(row.number)}
              onClick={() => toggle(row)}
            >
              <span class="cut">{numberedEventName(row.event, at)}</span>
              <code class="quiet cut">{JSON.stringify(row.event.properties ?? {})}</code>
            </button>
          </li>
        ))}
      </ol>
      <div class="ends">
        <Button onClick={props.onClose}>{commonTexts.cancel}</Button>
        <Button
          kind="main"
          disabledReason={selected.size === 0 ? codeTexts.selectOneOrMore : undefined}
          onClick={() => props.onSelect([...selected.values()])}
        >
          {codeTexts.useAsTestEvents}
        </Button>
      </div>
    </Dialog>
  );
}

type EventOrigin = "tail" | "letters" | "samples";

const emptyTexts: Record<EventOrigin, string> = {
  tail: codeTexts.waitingForEvent,
  letters: codeTexts.noDeadLetterEvents,
  samples: codeTexts.noSavedEvents,
};

type AddEvent = (event: unknown) => void;

/**
 * Functions that load real events for the dialog, by origin, and call `add` with each event.
 * `isNew` is false when the dialog keeps its events after a failure. Only the live tail then adds
 * events, and only new ones.
 */
const loadEvents: Record<
  EventOrigin,
  (add: AddEvent, signal: AbortSignal, isNew: boolean) => Promise<void>
> = {
  async tail(add, signal, isNew) {
    const recent = isNew ? await recentSentEvents(EVENT_ROWS_MAX) : [];
    for (const event of recent.toReversed()) add(event);
    for await (const { name, data } of client.follow({}, signal)) {
      if (name === "received") add(data.event);
    }
    // The error that `fetch` throws without a connection.
    if (!signal.aborted) throw new TypeError();
  },
  async letters(add, _, isNew) {
    if (!isNew) return;
    const query = { count: EVENT_ROWS_MAX };
    const { deadLetters } = await client.call("GET /v2/dead-letters", { query });
    for (const { event } of deadLetters) add(event);
  },
  async samples(add, _, isNew) {
    if (!isNew) return;
    for (const event of sampleEvents.value.toReversed()) add(event);
  },
};

/** Panel with the inputs of a test run: test events, kept in this browser, and saved test cases. */
export function Tests(props: {
  context: CodeContext;
  editor: Editor;
  /** Passes on real events that the user has loaded. Code completion then offers their fields. */
  onRealEvents: (events: readonly unknown[]) => void;
}) {
  const { context, editor, onRealEvents } = props;
  const { kind, isNewTestCase } = context;
  const [tab, setTab] = useState<"events" | "cases">(isNewTestCase ? "cases" : "events");
  const [newFrom] = useState(() => (isNewTestCase ? sampleEvents.value[0] : undefined));
  useEffect(() => {
    // A reload of the page must not begin the test case again.
    if (isNewTestCase) replaceQuery({ testCase: "" });
  }, []);
  if (kind === libraries) return <TestEvents editor={editor} onRealEvents={onRealEvents} />;
  const { testCases, report, outputsOf } = editor;
  const switcher = (
    <SegmentedControl
      label={testCaseTexts.testsPanel}
      value={tab}
      options={[
        { value: "events", text: codeTexts.testEvents },
        { value: "cases", text: testCaseTexts.count(testCases.list?.length ?? 0) },
      ]}
      onChange={setTab}
    />
  );
  if (tab === "events") {
    return <TestEvents editor={editor} onRealEvents={onRealEvents} switcher={switcher} />;
  }
  return (
    <Panel title={testCaseTexts.testCases}>
      {switcher}
      <TestCaseList
        testCases={testCases}
        results={report?.testSuites ?? []}
        newFrom={newFrom}
        outputsOf={outputsOf}
      />
    </Panel>
  );
}
