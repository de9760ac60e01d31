import { useMemo, useState } from "preact/hooks";
import { Panel } from "../components/layout.tsx";
import { sampleEvents } from "../data/sample-events.ts";
import { CodeEditor } from "../editor/code-editor.tsx";
import { type CodeContext, isPython, libraries } from "./code-kind.ts";
import { knownEvents, useCompletionData } from "./completion-data.ts";
import { RunResults } from "./run-results.tsx";
import { TestEvents } from "./test-events.tsx";
import { annotationsOf } from "./test-run.ts";
import { EditorToolbar, PublishDialog } from "./toolbar.tsx";
import { useEditorActions, useEditorTexts } from "./use-editor.ts";

/** Events that completion learns from. */
const REAL_EVENTS_MAX = 50;

/** Where code is written, run over events, saved and published. */
export function Workbench(opened: CodeContext) {
  const { kind, newest, published } = opened;
  const texts = useEditorTexts(opened);
  const { code, events, own, shown, isChanged } = texts;
  const work = useEditorActions(opened, texts);
  const [seen, setSeen] = useState<readonly unknown[]>([]);
  const tested = useMemo(() => knownEvents(events, work.report), [events, work.report]);
  const known = useCompletionData(newest.language, [
    ...seen,
    ...tested,
    ...sampleEvents.value.map(({ event }) => event),
  ]);
  const marks = useMemo(() => annotationsOf(work.report, own), [work.report, own]);
  const keys = { onRun: work.run, onSave: work.save };
  return (
    <>
      <EditorToolbar
        {...{ kind, isChanged, busy: work.busy, onDiscard: texts.discard, askToPublish: work.ask }}
        {...keys}
        isLive={!isChanged && published?.versionId === newest.versionId}
      />
      <div class="workbench">
        <div class="stack">
          <Panel title={own === undefined ? "Code" : `Library ${own}`} flush>
            <CodeEditor
              label={`Code of ${newest.name}`}
              language={isPython(newest.language) ? "python" : "javascript"}
              value={code}
              onChange={texts.setCode}
              shown={shown?.library === own ? shown : undefined}
              {...{ ...keys, marks, known }}
            />
          </Panel>
          {kind === libraries && <LibraryTrial {...{ opened, texts, work, known }} />}
        </div>
        <TestEvents
          text={events}
          onChange={texts.setEvents}
          onSeen={(more) => setSeen((before) => [...more, ...before].slice(0, REAL_EVENTS_MAX))}
          {...{ ...keys, wrong: work.wrong }}
        />
        <div class="whole">
          <RunResults
            {...{ report: work.report, error: work.fault }}
            onShow={(line, library) => texts.setShown({ line, library })}
          />
        </div>
      </div>
      {work.asked && (
        <PublishDialog
          {...{ kind, report: work.asked, onClose: work.leave, onPublish: work.publish }}
        />
      )}
    </>
  );
}

/** The transformation that a library is tried out with. */
function LibraryTrial(props: {
  opened: CodeContext;
  texts: ReturnType<typeof useEditorTexts>;
  work: ReturnType<typeof useEditorActions>;
  known: ReturnType<typeof useCompletionData>;
}) {
  const { opened, texts, work, known } = props;
  const { shown } = texts;
  const marks = useMemo(() => annotationsOf(work.report), [work.report]);
  return (
    <Panel title="Try it out" flush>
      <CodeEditor
        label="Transformation that tries the library"
        language={isPython(opened.newest.language) ? "python" : "javascript"}
        value={texts.trial}
        onChange={texts.setTrial}
        shown={shown?.library === undefined ? shown : undefined}
        {...{ marks, known, onRun: work.run, onSave: work.save }}
      />
    </Panel>
  );
}
