import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { CodeEditor } from "../editor/code-editor.tsx";
import { exportsOf, type Known } from "../editor/complete.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Fault, messageOf } from "../parts/fault.tsx";
import { Badge, Panel } from "../parts/layout.tsx";
import { tell, tellError } from "../parts/messages.ts";
import { client, lacking } from "../session.ts";
import { plural } from "../text.ts";
import { TestEvents } from "./events.tsx";
import { isPython, type Kind, libraries, type Opened } from "./kinds.ts";
import { Results } from "./results.tsx";
import { endOf, eventsIn, isFailed, marksOf, type Report, run, warningOf } from "./run.ts";
import { forget, keep, kept, takeTestEvent } from "./unsaved.ts";

/** Where code is written, run over events, saved and published. */
export function Workbench({ kind, newest, published, reload }: Opened) {
  const name = `code ${newest.id}`;
  const [code, setCode] = useKept(name, newest.code);
  const [events, setEvents] = useKept(`events ${newest.id}`, "");
  const [trial, setTrial] = useKept(`trial ${newest.id}`, trialOf(kind, newest));
  const [report, setReport] = useState<Report>();
  const [fault, setFault] = useState<unknown>();
  const [busy, setBusy] = useState<"run" | "save">();
  const [wrong, setWrong] = useState<string>();
  const [asked, setAsked] = useState<Report>();
  const [shown, setShown] = useState<{ line: number; library: string | undefined }>();
  const [seen, setSeen] = useState<readonly unknown[]>([]);
  const known = useKnown(kind, newest.language, [...seen, ...eventsSeen(events, report)]);
  const isLibrary = kind === libraries;
  const own = isLibrary ? newest.importName : undefined;
  const marks = useMemo(() => marksOf(report, own), [report, own]);
  const trialMarks = useMemo(() => (isLibrary ? marksOf(report) : []), [report, isLibrary]);
  const isChanged = code !== newest.code;
  const current = { kind, newest, code, trial };

  useEffect(() => {
    const offered = takeTestEvent();
    if (offered !== undefined) setEvents(JSON.stringify(JSON.parse(offered), null, 2));
  }, []);

  async function doing<T>(what: typeof busy, work: () => Promise<T>): Promise<T | undefined> {
    if (busy !== undefined) return undefined;
    setBusy(what);
    try {
      return await work();
    } catch (error) {
      tellError(error);
      return undefined;
    } finally {
      setBusy(undefined);
    }
  }

  /** Undefined when the test events are none. */
  async function tried(): Promise<Report | undefined> {
    let given: Record<string, unknown>[];
    try {
      given = eventsIn(events);
      setWrong(undefined);
    } catch (error) {
      setWrong(messageOf(error));
      return undefined;
    }
    setFault(undefined);
    try {
      const answer = await run({ ...current, events: given });
      setReport(answer);
      return answer;
    } catch (error) {
      setFault(error);
      return undefined;
    }
  }

  async function store(publish: boolean): Promise<void> {
    const { description, language, id } = newest;
    const given = eventsIn(events);
    const tested = given.length > 0 ? { events: given } : {};
    // What is stored already is published as it is, without one more revision.
    const { warnings = [] } =
      publish && !isChanged
        ? await kind.publish(newest.versionId, tested.events)
        : await kind.save(id, { code, description, language, ...tested }, publish);
    forget(name);
    setAsked(undefined);
    tell(
      publish
        ? ["Published: it is live from the next batch on", ...warnings].join(". ")
        : "Saved as a draft",
    );
    await reload();
  }
  const saveDraft = () => {
    if (lacking(kind.edit) !== undefined) return;
    if (isChanged) void doing("save", () => store(false));
    else tell("Nothing has changed");
  };
  const onRun = () => void doing("run", tried);
  const askToPublish = () =>
    doing("run", async () => {
      const answer = await tried();
      if (answer !== undefined && !isFailed(answer)) setAsked(answer);
    });

  return (
    <>
      <Toolbar
        {...{ kind, busy, isChanged, onRun, askToPublish }}
        isLive={!isChanged && published?.versionId === newest.versionId}
        onSave={saveDraft}
        onDiscard={() => {
          setCode(newest.code);
          forget(name);
        }}
      />
      <div class="workbench">
        <div class="stack">
          <Panel title={isLibrary ? `Library ${newest.importName ?? ""}` : "Code"} flush>
            <CodeEditor
              label={`Code of ${newest.name}`}
              language={isPython(newest.language) ? "python" : "javascript"}
              value={code}
              onChange={setCode}
              onSave={saveDraft}
              shown={shown?.library === own ? shown : undefined}
              {...{ onRun, marks, known }}
            />
          </Panel>
          {isLibrary && (
            <Panel title="Try it out" flush>
              <CodeEditor
                label="Transformation that tries the library"
                language={isPython(newest.language) ? "python" : "javascript"}
                value={trial}
                onChange={setTrial}
                marks={trialMarks}
                shown={shown?.library === undefined ? shown : undefined}
                onSave={saveDraft}
                {...{ onRun, known }}
              />
            </Panel>
          )}
        </div>
        <div class="stack">
          <TestEvents
            text={events}
            onChange={setEvents}
            onSave={saveDraft}
            onSeen={(more) => setSeen((before) => [...more, ...before].slice(0, SEEN_MAX))}
            {...{ wrong, onRun }}
          />
        </div>
        <div class="whole">
          <Results
            {...{ report, error: fault }}
            onShow={(line, library) => setShown({ line, library })}
          />
        </div>
      </div>
      {asked && (
        <AskToPublish
          report={asked}
          {...{ kind }}
          onClose={() => setAsked(undefined)}
          onPublish={() => store(true)}
        />
      )}
    </>
  );
}

/** Events that completion learns from. */
const SEEN_MAX = 50;

function Toolbar(props: {
  kind: Kind;
  busy: string | undefined;
  isChanged: boolean;
  isLive: boolean;
  onRun: () => void;
  onSave: () => void;
  onDiscard: () => void;
  askToPublish: () => unknown;
}) {
  const { kind, busy, isChanged, isLive, onRun, onSave, onDiscard, askToPublish } = props;
  return (
    <div class="toolbar" role="toolbar" aria-label="What to do with the code">
      <Button kind="main" icon="play" needs={kind.edit} busy={busy === "run"} onClick={onRun}>
        Run
      </Button>
      <Button
        needs={kind.edit}
        busy={busy === "save"}
        unless={isChanged ? undefined : "Nothing has changed"}
        onClick={onSave}
      >
        Save draft
      </Button>
      <Button
        icon="check"
        needs={kind.edit}
        unless={isLive ? "This code is live" : undefined}
        onClick={askToPublish}
      >
        Publish
      </Button>
      {isChanged && (
        <span class="row">
          <Badge tone="warn">Not saved</Badge>
          <Button tight kind="plain" onClick={onDiscard}>
            Discard changes
          </Button>
        </span>
      )}
    </div>
  );
}

function AskToPublish(props: {
  report: Report;
  kind: Kind;
  onClose: () => void;
  onPublish: () => Promise<unknown>;
}) {
  const { report, kind, onClose, onPublish } = props;
  const [error, setError] = useState<unknown>();
  const warning = warningOf(report);
  const ends = report.results.map((it) => endOf(it).text);
  return (
    <Dialog title="Publish?" onClose={onClose}>
      <p>
        {plural(report.results.length, "test event")} passed:{" "}
        {ends.map((it) => it.toLowerCase()).join(", ")}.
      </p>
      {warning && <p class="notice warn">{warning}</p>}
      <p class="quiet">
        {kind === libraries
          ? "Everything published that imports it is tested with it, and uses it from the next batch on."
          : "Its destinations use it from the next batch on. The revision that is live now is kept."}
      </p>
      <Fault error={error} />
      <div class="ends">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="main" onClick={() => onPublish().catch(setError)}>
          Publish
        </Button>
      </div>
    </Dialog>
  );
}

/** A text that outlives a reload while it differs from what is stored. */
function useKept(name: string, stored: string): [string, (text: string) => void] {
  const [text, setText] = useState(() => kept(name) ?? stored);
  const before = useRef(stored);
  useEffect(() => {
    // What is stored has changed, and what is written was that: it was saved, or rolled back.
    if (text === before.current) setText(stored);
    before.current = stored;
  }, [stored]);
  const set = (next: string) => {
    setText(next);
    if (next === stored) forget(name);
    else keep(name, next);
  };
  return [text, set];
}

function trialOf(kind: Kind, { importName = "", language, code }: Opened["newest"]): string {
  if (kind !== libraries) return "";
  if (isPython(language)) {
    return `import ${importName}\n\ndef transformEvent(event, metadata):\n    return event\n`;
  }
  const [first = "name"] = exportsOf(code, "javascript");
  return `import { ${first} } from "${importName}";\n\nexport function transformEvent(event) {\n  return event;\n}\n`;
}

function eventsSeen(text: string, report: Report | undefined): unknown[] {
  const run = report?.results.map(({ event }) => event) ?? [];
  try {
    return [...eventsIn(text), ...run];
  } catch {
    return run;
  }
}

/** What completion knows beside the code. */
function useKnown(kind: Kind, language: string, events: readonly unknown[]): Known {
  const [more, setMore] = useState<Pick<Known, "credentials" | "libraries">>({
    credentials: [],
    libraries: [],
  });
  const own = language === "javascript" ? "javascript" : "python";
  useEffect(() => {
    let isOver = false;
    asked(own).then(
      (it) => !isOver && setMore(it),
      // Completion knows less without them.
      () => {},
    );
    return () => {
      isOver = true;
    };
  }, [kind, own]);
  return { language: own, events: [...events, ...defaults], ...more };
}

async function asked(language: Known["language"]) {
  const [published, credentials] = await Promise.all([
    libraries.list(true),
    lacking("workspace:admin") === undefined ? client.call("GET /v2/credentials") : undefined,
  ]);
  return {
    credentials: (credentials?.credentials ?? []).map(({ name }) => name),
    libraries: published
      .filter((it) => isPython(it.language) === (language === "python"))
      .map(({ importName = "", code }) => ({ importName, exports: exportsOf(code, language) })),
  };
}

/** What every event has, before any was seen. */
const defaults = [
  {
    type: "track",
    channel: "web",
    messageId: "",
    anonymousId: "",
    userId: "",
    event: "",
    name: "",
    properties: {},
    context: { library: { name: "", version: "" }, page: { url: "", path: "", title: "" } },
    integrations: { All: true },
    originalTimestamp: "",
    sentAt: "",
    receivedAt: "",
    request_ip: "",
  },
];
