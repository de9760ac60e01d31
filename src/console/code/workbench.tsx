import { useMemo, useState } from "preact/hooks";
import { CodeEditor } from "../editor/code-editor.tsx";
import { Panel } from "../parts/layout.tsx";
import { picked } from "../picked.ts";
import { useTexts, useWork } from "./bench.ts";
import { TestEvents } from "./events.tsx";
import { isPython, libraries, type Opened } from "./kinds.ts";
import { eventsSeen, useKnown } from "./known.ts";
import { Results } from "./results.tsx";
import { marksOf } from "./run.ts";
import { AskToPublish, Toolbar } from "./toolbar.tsx";

/** Events that completion learns from. */
const SEEN_MAX = 50;

/** Where code is written, run over events, saved and published. */
export function Workbench(opened: Opened) {
  const { kind, newest, published } = opened;
  const texts = useTexts(opened);
  const { code, events, own, shown, isChanged } = texts;
  const work = useWork(opened, texts);
  const [seen, setSeen] = useState<readonly unknown[]>([]);
  const tested = useMemo(() => eventsSeen(events, work.report), [events, work.report]);
  const known = useKnown(newest.language, [
    ...seen,
    ...tested,
    ...picked.value.map(({ event }) => event),
  ]);
  const marks = useMemo(() => marksOf(work.report, own), [work.report, own]);
  const keys = { onRun: work.run, onSave: work.save };
  return (
    <>
      <Toolbar
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
          {kind === libraries && <Trial {...{ opened, texts, work, known }} />}
        </div>
        <TestEvents
          text={events}
          onChange={texts.setEvents}
          onSeen={(more) => setSeen((before) => [...more, ...before].slice(0, SEEN_MAX))}
          {...{ ...keys, wrong: work.wrong }}
        />
        <div class="whole">
          <Results
            {...{ report: work.report, error: work.fault }}
            onShow={(line, library) => texts.setShown({ line, library })}
          />
        </div>
      </div>
      {work.asked && (
        <AskToPublish
          {...{ kind, report: work.asked, onClose: work.leave, onPublish: work.publish }}
        />
      )}
    </>
  );
}

/** The transformation that a library is tried out with. */
function Trial(props: {
  opened: Opened;
  texts: ReturnType<typeof useTexts>;
  work: ReturnType<typeof useWork>;
  known: ReturnType<typeof useKnown>;
}) {
  const { opened, texts, work, known } = props;
  const { shown } = texts;
  const marks = useMemo(() => marksOf(work.report), [work.report]);
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
