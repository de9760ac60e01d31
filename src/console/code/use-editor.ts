import { useEffect, useState } from "preact/hooks";
import { errorMessage } from "../components/error-notice.tsx";
import { showError, showToast } from "../components/toasts.ts";
import { sampleEvents } from "../data/sample-events.ts";
import { missingPermission } from "../data/session.ts";
import { exportsOf } from "../editor/completion.ts";
import { type CodeContext, type CodeKindInfo, isPython, libraries } from "./code-kind.ts";
import { isFailed, parseEvents, runCode, type TestRunReport } from "./run-report.ts";
import { discardText, useUnsavedText } from "./unsaved-text.ts";

/** Line of the edited code, or of the library with the import name `library`. */
interface CodePosition {
  line: number;
  library: string | undefined;
}

export type Editor = ReturnType<typeof useEditor>;

/** State of the part of the page for writing code: the edited texts, and the actions on them. */
export function useEditor(context: CodeContext) {
  const texts = useEditorTexts(context);
  return { ...texts, ...useEditorActions(context, texts) };
}

/**
 * State of the edited texts: the code, its test events and, for a library, a transformation that
 * calls it.
 */
function useEditorTexts({ kind, newest, line }: CodeContext) {
  const storageName = `code ${newest.id}`;
  const [code, setCode] = useUnsavedText(storageName, newest.code);
  const [events, setEvents] = useUnsavedText(`events ${newest.id}`, "");
  const [trial, setTrial] = useUnsavedText(`trial ${newest.id}`, trialCode(kind, newest));
  /** Import name of the edited library; undefined for a transformation. */
  const libraryName = kind === libraries ? newest.importName : undefined;
  const [position, setPosition] = useState<CodePosition>();

  useEffect(() => {
    if (line === undefined) return;
    // A link with a line comes from an event that failed at this line. The event is the latest
    // sample.
    const [latest] = sampleEvents.value;
    if (latest) setEvents(JSON.stringify(latest, null, 2));
    setPosition({ line, library: libraryName });
  }, [line]);

  return {
    code,
    setCode,
    events,
    setEvents,
    trial,
    setTrial,
    libraryName,
    position,
    setPosition,
    isChanged: code !== newest.code,
    discardChanges() {
      setCode(newest.code);
      discardText(storageName);
    },
    discardStoredText: () => discardText(storageName),
  };
}

type EditorTexts = ReturnType<typeof useEditorTexts>;

/** Actions that run, save and publish the texts. Only one action runs at a time. */
function useEditorActions(context: CodeContext, texts: EditorTexts) {
  const { kind, newest } = context;
  const [report, setReport] = useState<TestRunReport>();
  const [runError, setRunError] = useState<unknown>();
  const [eventsError, setEventsError] = useState<string>();
  const [busy, setBusy] = useState<"run" | "save">();
  /**
   * Report of the successful test run in the publish dialog; undefined while the dialog is closed.
   */
  const [publishReport, setPublishReport] = useState<TestRunReport>();

  async function runExclusively(name: "run" | "save", action: () => Promise<unknown>) {
    if (busy !== undefined) return;
    setBusy(name);
    await action().catch(showError);
    setBusy(undefined);
  }

  /**
   * Runs the code with the test events. Resolves with undefined when the events are invalid or the
   * request fails.
   */
  async function testRun(): Promise<TestRunReport | undefined> {
    try {
      parseEvents(texts.events);
      setEventsError(undefined);
    } catch (error) {
      setEventsError(errorMessage(error));
      return undefined;
    }
    try {
      const { code, trial, events } = texts;
      const answer = await runCode({ kind, newest, code, trial, events: parseEvents(events) });
      setReport(answer);
      setRunError(undefined);
      return answer;
    } catch (error) {
      setRunError(error);
      return undefined;
    }
  }

  return {
    report,
    runError,
    eventsError,
    busy,
    publishReport,
    run: () => void runExclusively("run", testRun),
    save() {
      if (missingPermission(kind.editPermission) !== undefined) return;
      if (texts.isChanged) void runExclusively("save", () => store(context, texts, false));
      else showToast("No changes");
    },
    /** Runs the code with the test events, and opens the publish dialog if no event fails. */
    requestPublish: () =>
      runExclusively("run", async () => {
        const answer = await testRun();
        if (answer !== undefined && !isFailed(answer)) setPublishReport(answer);
      }),
    cancelPublish: () => setPublishReport(undefined),
    async publish() {
      await store(context, texts, true);
      setPublishReport(undefined);
    },
  };
}

async function store(
  { kind, newest, reload }: CodeContext,
  { code, events, isChanged, discardStoredText }: EditorTexts,
  publish: boolean,
): Promise<void> {
  const { description, language, id } = newest;
  const testEvents = parseEvents(events);
  const test = testEvents.length > 0 ? { events: testEvents } : {};
  // A draft without changes is published as it is. Saving it would create another revision.
  const { warnings = [] } =
    publish && !isChanged
      ? await kind.publish(newest.versionId, test.events)
      : await kind.save(id, { code, description, language, ...test }, publish);
  discardStoredText();
  showToast(
    publish ? ["Published: live from the next batch", ...warnings].join(". ") : "Saved as a draft",
  );
  await reload();
}

/**
 * Returns the initial code of the transformation that calls the edited library in a test run. Empty
 * when the edited code is itself a transformation.
 */
function trialCode(
  kind: CodeKindInfo,
  { importName = "", language, code }: CodeContext["newest"],
): string {
  if (kind !== libraries) return "";
  if (isPython(language)) {
    return `import ${importName}\n\ndef transformEvent(event, metadata):\n    return event\n`;
  }
  const [first = "name"] = exportsOf(code, "javascript");
  return `import { ${first} } from "${importName}";

export function transformEvent(event) {
  return event;
}
`;
}
