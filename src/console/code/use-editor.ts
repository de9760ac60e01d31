import { useEffect, useState } from "preact/hooks";
import { errorMessage } from "../components/error-notice.tsx";
import { showError, showToast } from "../components/toasts.ts";
import { sampleEvents } from "../data/sample-events.ts";
import { missingPermission } from "../data/session.ts";
import { exportsOf } from "../editor/completion.ts";
import { type CodeContext, type CodeKind, isPython, libraries } from "./code-kind.ts";
import { isFailed, parseEvents, type RunReport, runCode } from "./test-run.ts";
import { discardText, useUnsavedText } from "./unsaved-text.ts";

/** A place in the code, or in that of a library. */
export interface CodePosition {
  line: number;
  library: string | undefined;
}

/** What somebody writes: code, events to run it over, and for a library what tries it. */
export function useEditorTexts({ kind, newest, at }: CodeContext) {
  const name = `code ${newest.id}`;
  const [code, setCode] = useUnsavedText(name, newest.code);
  const [events, setEvents] = useUnsavedText(`events ${newest.id}`, "");
  const [trial, setTrial] = useUnsavedText(`trial ${newest.id}`, trialCode(kind, newest));
  const own = kind === libraries ? newest.importName : undefined;
  const [shown, setShown] = useState<CodePosition>();

  useEffect(() => {
    if (at === undefined) return;
    // Somebody comes from an event that failed here.
    const [latest] = sampleEvents.value;
    if (latest) setEvents(JSON.stringify(latest.event, null, 2));
    setShown({ line: at, library: own });
  }, [at]);

  return {
    ...{ code, setCode, events, setEvents, trial, setTrial, own, shown, setShown },
    isChanged: code !== newest.code,
    /** What is stored is what counts again. */
    discard() {
      setCode(newest.code);
      discardText(name);
    },
    stored: () => discardText(name),
  };
}

type EditorTexts = ReturnType<typeof useEditorTexts>;

/** Running, saving and publishing what is written; one of it at a time. */
export function useEditorActions(opened: CodeContext, texts: EditorTexts) {
  const { kind } = opened;
  const { isChanged } = texts;
  const [report, setReport] = useState<RunReport>();
  const [fault, setFault] = useState<unknown>();
  const [busy, setBusy] = useState<"run" | "save">();
  const [wrong, setWrong] = useState<string>();
  /** What the tests found before publishing was asked for. */
  const [asked, setAsked] = useState<RunReport>();

  async function doing(what: "run" | "save", work: () => Promise<unknown>): Promise<void> {
    if (busy !== undefined) return;
    setBusy(what);
    await work().catch(showError);
    setBusy(undefined);
  }

  /** Undefined when the test events are none, or the server could not run them. */
  async function tried(): Promise<RunReport | undefined> {
    try {
      parseEvents(texts.events);
      setWrong(undefined);
    } catch (error) {
      setWrong(errorMessage(error));
      return undefined;
    }
    try {
      const { newest } = opened;
      const { code, trial, events } = texts;
      const answer = await runCode({ kind, newest, code, trial, events: parseEvents(events) });
      setReport(answer);
      setFault(undefined);
      return answer;
    } catch (error) {
      setFault(error);
      return undefined;
    }
  }

  return {
    ...{ report, fault, busy, wrong, asked },
    run: () => void doing("run", tried),
    save() {
      if (missingPermission(kind.editPermission) !== undefined) return;
      if (isChanged) void doing("save", () => store(opened, texts, false));
      else showToast("Nothing has changed");
    },
    ask: () =>
      doing("run", async () => {
        const answer = await tried();
        if (answer !== undefined && !isFailed(answer)) setAsked(answer);
      }),
    leave: () => setAsked(undefined),
    async publish() {
      await store(opened, texts, true);
      setAsked(undefined);
    },
  };
}

async function store(
  { kind, newest, reload }: CodeContext,
  { code, events, isChanged, stored }: EditorTexts,
  publish: boolean,
): Promise<void> {
  const { description, language, id } = newest;
  const given = parseEvents(events);
  const tested = given.length > 0 ? { events: given } : {};
  // What is stored already is published as it is, without one more revision.
  const { warnings = [] } =
    publish && !isChanged
      ? await kind.publish(newest.versionId, tested.events)
      : await kind.save(id, { code, description, language, ...tested }, publish);
  stored();
  showToast(
    publish
      ? ["Published: it is live from the next batch on", ...warnings].join(". ")
      : "Saved as a draft",
  );
  await reload();
}

/** A transformation that uses a library, to begin with. */
function trialCode(
  kind: CodeKind,
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
