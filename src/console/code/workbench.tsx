import { useMemo, useState } from "preact/hooks";
import { Panel } from "../components/layout.tsx";
import { sampleEvents } from "../data/sample-events.ts";
import { CodeEditor } from "../editor/code-editor.tsx";
import type { CompletionData } from "../editor/completion.ts";
import { type CodeContext, editorLanguage, libraries } from "./code-kind.ts";
import { knownEvents, useCompletionData } from "./completion-data.ts";
import { annotationsOf } from "./run-report.ts";
import { RunResults } from "./run-results.tsx";
import { TestEvents } from "./test-events.tsx";
import { EditorToolbar, PublishDialog } from "./toolbar.tsx";
import { type Editor, useEditor } from "./use-editor.ts";

/** Maximum number of real events whose fields code completion offers. */
const REAL_EVENTS_MAX = 50;

/** Part of the screen in which the user writes, runs, saves and publishes code. */
export function Workbench(context: CodeContext) {
  const { kind, newest, published } = context;
  const editor = useEditor(context);
  const { events, libraryName, position, isChanged, report, run, save } = editor;
  const [realEvents, setRealEvents] = useState<readonly unknown[]>([]);
  const testEvents = useMemo(() => knownEvents(events, report), [events, report]);
  const completionData = useCompletionData(newest.language, [
    ...realEvents,
    ...testEvents,
    ...sampleEvents.value,
  ]);
  const annotations = useMemo(() => annotationsOf(report, libraryName), [report, libraryName]);
  return (
    <>
      <EditorToolbar
        kind={kind}
        editor={editor}
        isLive={!isChanged && published?.versionId === newest.versionId}
      />
      <div class="workbench">
        <div class="stack">
          <Panel title={libraryName === undefined ? "Code" : `Library ${libraryName}`} flush>
            <CodeEditor
              label={`Code of ${newest.name}`}
              language={editorLanguage(newest.language)}
              value={editor.code}
              onChange={editor.setCode}
              position={position?.library === libraryName ? position : undefined}
              annotations={annotations}
              completionData={completionData}
              onRun={run}
              onSave={save}
            />
          </Panel>
          {kind === libraries && (
            <LibraryTrial context={context} editor={editor} completionData={completionData} />
          )}
        </div>
        <TestEvents
          editor={editor}
          onRealEvents={(more) =>
            setRealEvents((before) => [...more, ...before].slice(0, REAL_EVENTS_MAX))
          }
        />
        <div class="whole">
          <RunResults
            report={report}
            error={editor.runError}
            onShowLine={(line, library) => editor.setPosition({ line, library })}
          />
        </div>
      </div>
      {editor.publishReport && (
        <PublishDialog
          kind={kind}
          report={editor.publishReport}
          onClose={editor.cancelPublish}
          onPublish={editor.publish}
        />
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
  const annotations = useMemo(() => annotationsOf(report), [report]);
  return (
    <Panel title="Try it out" flush>
      <CodeEditor
        label="Transformation that tries the library"
        language={editorLanguage(props.context.newest.language)}
        value={trial}
        onChange={setTrial}
        position={position?.library === undefined ? position : undefined}
        annotations={annotations}
        completionData={props.completionData}
        onRun={run}
        onSave={save}
      />
    </Panel>
  );
}
