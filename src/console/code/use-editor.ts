import { useEffect, useRef, useState } from "preact/hooks";
import { type CodeContext, type CodeItem, libraries } from "../code-kinds/code-kind.ts";
import { errorMessage } from "../components/error-notice.tsx";
import { showError, showToast } from "../components/toasts.ts";
import { sampleEvents } from "../data/sample-events.ts";
import { missingPermission } from "../data/session.ts";
import { isFailed, parseEvents, runCode, type TestRunReport } from "../testing/run-report.ts";
import { type TestCase, useTestCases } from "../testing/use-test-cases.ts";
import { codeTexts } from "../texts/code.ts";
import { discardText, textName, useTextBase, useUnsavedText } from "./editing/unsaved-text.ts";
import { useFormat } from "./editing/use-format.ts";
import { useMerge } from "./publishing/merge.tsx";
import { trialCode } from "./samples/sample-code.ts";

export type Editor = ReturnType<typeof useEditor>;

/** State for editing code: the edited texts, and the actions to test, save and publish them. */
export function useEditor(context: CodeContext) {
  const { kind, newest } = context;
  const texts = useEditorTexts(context);
  const testCases = useTestCases(kind === libraries ? undefined : newest.id);
  const merge = useMerge(context, texts);
  const actions = useEditorActions(context, texts, testCases.list ?? [], merge);
  return { ...texts, ...merge, testCases, ...actions };
}

/**
 * Component state for the edited texts: the code, its test events and, for a library, a
 * transformation that calls the library.
 */
function useEditorTexts({ kind, newest, line }: CodeContext) {
  const storageName = textName("code", newest.id);
  /** Import name of the edited library; undefined for a transformation. */
  const libraryName = kind === libraries ? newest.importName : undefined;
  /**
   * Line, counted from 1, to which an editor moves the cursor. If `library` is undefined, the line
   * is in the transformation, otherwise in the library with this import name.
   */
  const [position, setPosition] = useState<{ line: number; library: string | undefined }>();
  const showLineOf = (library: string | undefined) => (at: number) =>
    setPosition({ line: at, library });
  const [code, storeCode] = useUnsavedText(storageName, newest.code);
  const { setText: setCode, ...codeFormat } = useFormat(
    newest.language,
    code,
    storeCode,
    showLineOf(libraryName),
  );
  const isChanged = code !== newest.code;
  const latestCode = useRef(code);
  latestCode.current = code;
  const baseName = textName("base", newest.id);
  const [baseVersionId, setBaseVersionId] = useTextBase(baseName, newest.versionId, isChanged);
  const [events, setEvents] = useUnsavedText(textName("events", newest.id), "");
  const [note, setNote] = useState("");
  const [trial, storeTrial] = useUnsavedText(textName("trial", newest.id), trialCode(kind, newest));
  const { setText: setTrial, ...trialFormat } = useFormat(
    newest.language,
    trial,
    storeTrial,
    showLineOf(undefined),
  );

  useEffect(() => {
    if (line === undefined) return;
    // A link with a line comes from an event that failed at this line. The link has made this event
    // the latest sample event.
    const [latest] = sampleEvents.value;
    if (latest) setEvents(JSON.stringify(latest, null, 2));
    setPosition({ line, library: libraryName });
  }, [line]);

  return {
    code,
    setCode,
    codeFormat,
    events,
    setEvents,
    /**
     * The user's reason for the change. The next save or publication sends it as the note. It is
     * cleared if the request succeeds.
     */
    note,
    setNote,
    trial,
    setTrial,
    trialFormat,
    libraryName,
    position,
    setPosition,
    isChanged,
    baseVersionId,
    setBaseVersionId,
    discardChanges: () => setCode(newest.code),
    /**
     * Returns whether the code has been edited since the render that created this function. A
     * caller asks this after a request to find out about edits during the request.
     */
    isEditedSince: () => latestCode.current !== code,
    discardStoredText: () => discardText(storageName),
  };
}

type EditorTexts = ReturnType<typeof useEditorTexts>;

/**
 * Actions that run, save and publish the edited texts. `run`, `save` and `requestPublish` do
 * nothing while one of them is in progress.
 */
function useEditorActions(
  context: CodeContext,
  texts: EditorTexts,
  testCases: readonly TestCase[],
  { saveOrMerge }: ReturnType<typeof useMerge>,
) {
  const { kind, newest } = context;
  const [report, setReport] = useState<TestRunReport>();
  const [runError, setRunError] = useState<unknown>();
  const [eventsError, setEventsError] = useState<string>();
  const [busy, setBusy] = useState<"run" | "save">();
  /** Report of the test run that the publish dialog shows. Undefined while the dialog is closed. */
  const [publishReport, setPublishReport] = useState<TestRunReport>();

  async function runExclusively(name: "run" | "save", action: () => Promise<unknown>) {
    if (busy !== undefined) return;
    setBusy(name);
    await action().catch(showError);
    setBusy(undefined);
  }

  /**
   * Runs the code on the test events and the test cases. Resolves with the report of the run, or
   * with undefined if the test events are invalid or the request fails.
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
      const run = { kind, newest, code, trial, events: parseEvents(events), testCases };
      const answer = await runCode(run);
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
    /** Runs the edited code on `events`. Resolves with its outputs. Rejects if an event fails. */
    async outputsOf(events: Record<string, unknown>[]): Promise<unknown[]> {
      const { code, trial } = texts;
      const run = { kind, newest, code, trial, events, testCases: [] };
      const { error, results } = await runCode(run);
      const failed = error ?? results.find((it) => it.error !== undefined)?.error;
      if (failed) throw new Error(failed.message);
      return results.flatMap(({ outputs = [] }) => outputs);
    },
    run: () => void runExclusively("run", testRun),
    save() {
      if (missingPermission(kind.editPermission) !== undefined) return;
      if (texts.isChanged) {
        void runExclusively("save", () => saveOrMerge(() => store(context, texts, false)));
      } else showToast(codeTexts.noChanges);
    },
    /**
     * Runs the code on the test events and the test cases, and opens the publish dialog if none
     * fails. If another user has saved a revision since the edit began, opens the merge dialog
     * instead.
     */
    requestPublish: () =>
      runExclusively("run", async () => {
        await saveOrMerge(async () => {
          const answer = await testRun();
          if (answer === undefined || isFailed(answer)) throw new Error(codeTexts.notPublished);
          if (texts.isEditedSince()) throw new Error(codeTexts.editedDuringTest);
          setPublishReport(answer);
        });
      }),
    cancelPublish: () => setPublishReport(undefined),
    async publish() {
      await saveOrMerge(() => store(context, texts, true));
      setPublishReport(undefined);
    },
  };
}

async function store(
  { kind, newest, tag, reload }: CodeContext,
  { code, events, note, isChanged, ...texts }: EditorTexts,
  publish: boolean,
): Promise<void> {
  const { description, language, id } = newest;
  const testEvents = parseEvents(events);
  const more = {
    ...(testEvents.length > 0 && { events: testEvents }),
    ...(note && { note }),
  };
  // A draft without changes is published as it is. Saving it would create another revision.
  const { warnings = [], versionId = newest.versionId }: Partial<CodeItem> = isChanged
    ? await kind.save(id, { code, description, language, ...more }, publish, tag)
    : await kind.publish(newest.versionId, tag, more);
  const isEdited = texts.isEditedSince();
  if (!isEdited) texts.discardStoredText();
  texts.setNote("");
  showToast(publish ? [codeTexts.published, ...warnings].join(". ") : codeTexts.savedAsDraft);
  await reload();
  // A text that the user has typed meanwhile is an edit of the revision that was stored.
  if (isEdited) texts.setBaseVersionId(versionId);
}
