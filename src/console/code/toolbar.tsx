import { useState } from "preact/hooks";
import {
  type CodeContext,
  editorLanguage,
  type Language,
  libraries,
} from "../code-kinds/code-kind.ts";
import { Button } from "../components/button.tsx";
import { ConfirmDialog, Dialog } from "../components/dialog.tsx";
import { withCode } from "../components/inline-code.tsx";
import { Badge } from "../components/layout.tsx";
import { outcomeOf, type TestRunReport, warningOf } from "../testing/run-report.ts";
import { codeTexts, testCaseTexts } from "../texts/code.ts";
import { commonTexts } from "../texts/common.ts";
import {
  entryFunctions,
  metadataFunction,
  metadataKeys,
  providedFunctions,
  type UserCodeFunction,
} from "../texts/user-code-functions.ts";
import { NoteField, PublishDetails } from "./publishing/publish-details.tsx";
import type { Editor } from "./use-editor.ts";

/** Buttons to run, save, publish and discard the edited code. */
export function EditorToolbar({ context, editor }: { context: CodeContext; editor: Editor }) {
  const { kind, newest, published } = context;
  const { busy, isChanged } = editor;
  const isLive = !isChanged && published?.versionId === newest.versionId;
  const [isHelpOpen, setHelpOpen] = useState(false);
  const { format } = editor.codeFormat;
  return (
    <div class="toolbar sticky" role="toolbar" aria-label={codeTexts.codeActions}>
      <Button
        kind="main"
        icon="play"
        needs={kind.editPermission}
        busy={busy === "run"}
        onClick={editor.run}
      >
        {codeTexts.run}
      </Button>
      <Button
        needs={kind.editPermission}
        busy={busy === "save"}
        disabledReason={isChanged ? undefined : codeTexts.noChanges}
        onClick={editor.save}
      >
        {codeTexts.saveDraft}
      </Button>
      <Button
        icon="check"
        needs={kind.editPermission}
        disabledReason={isLive ? codeTexts.codeIsLive : undefined}
        onClick={editor.requestPublish}
      >
        {codeTexts.publish}
      </Button>
      {format && (
        <Button shortcut={codeTexts.formatKey} onClick={format}>
          {codeTexts.format}
        </Button>
      )}
      <Button icon="info" onClick={() => setHelpOpen(true)}>
        {codeTexts.functions}
      </Button>
      {isHelpOpen && <FunctionHelp language={newest.language} onClose={() => setHelpOpen(false)} />}
      {isChanged && (
        <span class="row">
          <Badge tone="warn">{codeTexts.unsaved}</Badge>
          <input
            class="note"
            aria-label={codeTexts.note}
            placeholder={codeTexts.noteExample}
            autoComplete="off"
            value={editor.note}
            onInput={(event) => editor.setNote(event.currentTarget.value)}
          />
          <Button compact kind="plain" onClick={editor.discardChanges}>
            {commonTexts.discardChanges}
          </Button>
        </span>
      )}
    </div>
  );
}

/** Dialog that shows the result of the test run before publishing, and asks whether to publish. */
export function PublishDialog(props: {
  context: CodeContext;
  editor: Editor;
  report: TestRunReport;
}) {
  const { context, editor, report } = props;
  const warning = warningOf(report);
  const { testSuites = [] } = report;
  const passed = testSuites.filter(({ status }) => status === "pass").length;
  const outcomes = Object.entries(Object.groupBy(report.results, (it) => outcomeOf(it).text));
  const counts = outcomes.map(([text, results = []]) => `${results.length} ${text.toLowerCase()}`);
  return (
    <ConfirmDialog
      title={codeTexts.publishQuestion}
      action={codeTexts.publish}
      onConfirm={editor.publish}
      onClose={editor.cancelPublish}
      broad
    >
      <p>{codeTexts.testedEvents(report.results.length, counts)}</p>
      {testSuites.length > 0 && <p>{testCaseTexts.summary(passed, testSuites.length)}.</p>}
      {warning && <p class="notice warn">{warning}</p>}
      <p class="quiet">
        {context.kind === libraries
          ? codeTexts.libraryPublishEffect
          : codeTexts.transformationPublishEffect}
      </p>
      <PublishDetails context={context} code={editor.code} />
      <NoteField value={editor.note} onInput={editor.setNote} />
    </ConfirmDialog>
  );
}

/** Dialog that lists the functions that code in `language` can export, and those it can call. */
function FunctionHelp(props: { language: Language; onClose: () => void }) {
  const { language, onClose } = props;
  return (
    <Dialog title={codeTexts.functions} onClose={onClose} broad>
      <h3>{codeTexts.entryFunctions}</h3>
      <FunctionList functions={entryFunctions} language={language} />
      <h3>{codeTexts.providedFunctions}</h3>
      <FunctionList functions={[metadataFunction, ...providedFunctions]} language={language} />
      <h3>{codeTexts.metadataKeys}</h3>
      <p>
        {metadataKeys.map((key) => (
          <>
            <code>{key}</code>{" "}
          </>
        ))}
      </p>
      <p>
        <a href="/docs/guide/user-code" target="_blank" rel="noreferrer">
          {codeTexts.userCodeGuide}
        </a>
      </p>
    </Dialog>
  );
}

function FunctionList(props: { functions: readonly UserCodeFunction[]; language: Language }) {
  const language = editorLanguage(props.language);
  return (
    <dl class="functions">
      {props.functions.map(({ name, signatures, meaning }) => {
        const signature = signatures[language];
        return (
          signature && (
            <div key={name}>
              <dt>
                <code>{signature}</code>
              </dt>
              <dd>{withCode(meaning)}</dd>
            </div>
          )
        );
      })}
    </dl>
  );
}
