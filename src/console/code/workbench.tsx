import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type CodeContext, editorLanguage, libraries } from "../code-kinds/code-kind.ts";
import { Button } from "../components/button.tsx";
import { Panel, SegmentedControl } from "../components/layout.tsx";
import { recentSentEvents } from "../data/recent-events.ts";
import { sampleEvents } from "../data/sample-events.ts";
import { CodeEditor } from "../editor/code-editor.tsx";
import type { CompletionData } from "../editor/completion.ts";
import { annotationsOf } from "../testing/run-report.ts";
import { RunResults } from "../testing/run-results.tsx";
import { codeTexts, testCaseTexts } from "../texts/code.ts";
import { conflictTexts } from "../texts/conflicts.ts";
import { knownEvents, useCompletionData } from "./completion-data.ts";
import { MergeDialog } from "./publishing/merge.tsx";
import { Tests } from "./tests.tsx";
import { EditorToolbar, PublishDialog } from "./toolbar.tsx";
import { type Editor, useEditor } from "./use-editor.ts";

/** Maximum number of real events whose fields code completion offers. */
const REAL_EVENTS_MAX = 50;

type Side = "tests" | "result";
const sides: readonly { value: Side; text: string }[] = [
  { value: "tests", text: testCaseTexts.testsPanel },
  { value: "result", text: codeTexts.result },
];

/** Part of the screen in which the user writes, runs, saves and publishes code. */
export function Workbench(context: CodeContext) {
  const { kind, newest } = context;
  const editor = useEditor(context);
  const { events, libraryName, position, report, run, save } = editor;
  const [realEvents, setRealEvents] = useState<readonly unknown[]>([]);
  useEffect(() => {
    let isStale = false;
    recentSentEvents(REAL_EVENTS_MAX).then(
      (recent) => !isStale && setRealEvents((before) => [...before, ...recent]),
      // Without real events, completion offers the fields of test events.
      () => {},
    );
    return () => {
      isStale = true;
    };
  }, []);
  const testEvents = useMemo(() => knownEvents(events, report), [events, report]);
  const completionData = useCompletionData(newest.language, [
    ...realEvents,
    ...testEvents,
    ...sampleEvents.value,
  ]);
  const { formatErrors, format } = editor.codeFormat;
  const annotations = useMemo(
    () => [...annotationsOf(report, libraryName), ...formatErrors],
    [report, libraryName, formatErrors],
  );
  /**
   * View that a narrow screen shows: the code, the tests or the result. A wide screen shows the
   * code and, beside it, the view in `side`.
   */
  const [view, setView] = useState<"code" | Side>(context.isNewTestCase ? "tests" : "code");
  const side = useRef<Side>("tests");
  if (view !== "code") side.current = view;
  const result = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    // The part that had the focus may be hidden now.
    if (view === "result" && !document.activeElement?.checkVisibility()) result.current?.focus();
  }, [view]);
  useEffect(() => {
    if (report !== undefined || editor.runError !== undefined) setView("result");
  }, [report, editor.runError]);
  useEffect(() => {
    if (formatErrors.length > 0) setView("code");
  }, [formatErrors]);
  return (
    <>
      <EditorToolbar context={context} editor={editor} />
      {editor.isOutdated && (
        <p class="notice warn row" role="status">
          {conflictTexts.olderBase}
          <Button compact onClick={editor.openMerge}>
            {conflictTexts.merge}
          </Button>
        </p>
      )}
      <div class="workbench" data-view={view} data-side={side.current}>
        <div class="narrow-only">
          <SegmentedControl
            label={testCaseTexts.views}
            value={view}
            options={[{ value: "code", text: codeTexts.code }, ...sides]}
            onChange={setView}
          />
        </div>
        <div class="wide-only">
          <SegmentedControl
            label={testCaseTexts.views}
            value={side.current}
            options={sides}
            onChange={setView}
          />
        </div>
        <section data-part="code" aria-label={codeTexts.code}>
          <Panel title={codeTexts.codeTitle(libraryName)} flush>
            <CodeEditor
              label={codeTexts.codeOf(newest.name)}
              language={editorLanguage(newest.language)}
              value={editor.code}
              onChange={editor.setCode}
              position={position?.library === libraryName ? position : undefined}
              annotations={annotations}
              completionData={completionData}
              onRun={run}
              onSave={save}
              onFormat={format}
            />
          </Panel>
          {kind === libraries && (
            <LibraryTrial context={context} editor={editor} completionData={completionData} />
          )}
        </section>
        <section data-part="tests" aria-label={testCaseTexts.testsPanel}>
          <Tests
            context={context}
            editor={editor}
            onRealEvents={(more) =>
              setRealEvents((before) => [...more, ...before].slice(0, REAL_EVENTS_MAX))
            }
          />
        </section>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs keyboard focus */}
        <section ref={result} data-part="result" aria-label={codeTexts.result} tabIndex={0}>
          <RunResults
            report={report}
            error={editor.runError}
            onShowLine={(line, library) => {
              setView("code");
              editor.setPosition({ line, library });
            }}
          />
        </section>
      </div>
      {editor.mergeRequest && <MergeDialog {...editor} request={editor.mergeRequest} />}
      {editor.publishReport && (
        <PublishDialog context={context} editor={editor} report={editor.publishReport} />
      )}
    </>
  );
}

/** Editor of the transformation that calls the edited library in a test run. */
function LibraryTrial(props: {
  context: CodeContext;
  editor: Editor;
  completionData: CompletionData;
}) {
  const { position, report, trial, setTrial, run, save } = props.editor;
  const { formatErrors, format } = props.editor.trialFormat;
  const annotations = useMemo(
    () => [...annotationsOf(report), ...formatErrors],
    [report, formatErrors],
  );
  return (
    <Panel title={codeTexts.trialTitle} flush>
      <CodeEditor
        label={codeTexts.trialTransformation}
        language={editorLanguage(props.context.newest.language)}
        value={trial}
        onChange={setTrial}
        position={position?.library === undefined ? position : undefined}
        annotations={annotations}
        completionData={props.completionData}
        onRun={run}
        onSave={save}
        onFormat={format}
      />
    </Panel>
  );
}
