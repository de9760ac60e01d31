import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Badge } from "../components/layout.tsx";
import { pluralize } from "../format.ts";
import { type CodeKindInfo, libraries } from "./code-kind.ts";
import { outcomeOf, type TestRunReport, warningOf } from "./run-report.ts";
import type { Editor } from "./use-editor.ts";

/** Buttons to run, save, publish and discard the edited code. */
export function EditorToolbar(props: { kind: CodeKindInfo; editor: Editor; isLive: boolean }) {
  const { kind, editor, isLive } = props;
  const { busy, isChanged } = editor;
  return (
    <div class="toolbar" role="toolbar" aria-label="Code actions">
      <Button
        kind="main"
        icon="play"
        needs={kind.editPermission}
        busy={busy === "run"}
        onClick={editor.run}
      >
        Run
      </Button>
      <Button
        needs={kind.editPermission}
        busy={busy === "save"}
        disabledReason={isChanged ? undefined : "No changes"}
        onClick={editor.save}
      >
        Save draft
      </Button>
      <Button
        icon="check"
        needs={kind.editPermission}
        disabledReason={isLive ? "This code is live" : undefined}
        onClick={editor.requestPublish}
      >
        Publish
      </Button>
      {isChanged && (
        <span class="row">
          <Badge tone="warn">Unsaved</Badge>
          <Button compact kind="plain" onClick={editor.discardChanges}>
            Discard changes
          </Button>
        </span>
      )}
    </div>
  );
}

/** Dialog that shows the result of the test run, and asks whether to publish. */
export function PublishDialog(props: {
  report: TestRunReport;
  kind: CodeKindInfo;
  onClose: () => void;
  onPublish: () => Promise<unknown>;
}) {
  const { report, kind, onClose, onPublish } = props;
  const [error, setError] = useState<unknown>();
  const warning = warningOf(report);
  const outcomes = Object.entries(Object.groupBy(report.results, (it) => outcomeOf(it).text));
  const counts = outcomes.map(([text, results = []]) => `${results.length} ${text.toLowerCase()}`);
  return (
    <Dialog title="Publish?" onClose={onClose}>
      <p>
        {pluralize(report.results.length, "test event")}: {counts.join(", ")}.
      </p>
      {warning && <p class="notice warn">{warning}</p>}
      <p class="quiet">
        {kind === libraries
          ? "Every published transformation and library that imports it is tested with it, and uses it from the next batch."
          : "Its destinations use it from the next batch. The revision that is live now is kept."}
      </p>
      <ErrorNotice error={error} />
      <div class="ends">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="main" onClick={() => onPublish().catch(setError)}>
          Publish
        </Button>
      </div>
    </Dialog>
  );
}
