import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Badge } from "../components/layout.tsx";
import { pluralize } from "../format.ts";
import { type CodeKind, libraries } from "./code-kind.ts";
import { outcomeOf, type RunReport, warningOf } from "./test-run.ts";

/** What can be done with the code that is written. */
export function EditorToolbar(props: {
  kind: CodeKind;
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
      <Button
        kind="main"
        icon="play"
        needs={kind.editPermission}
        busy={busy === "run"}
        onClick={onRun}
      >
        Run
      </Button>
      <Button
        needs={kind.editPermission}
        busy={busy === "save"}
        disabledReason={isChanged ? undefined : "Nothing has changed"}
        onClick={onSave}
      >
        Save draft
      </Button>
      <Button
        icon="check"
        needs={kind.editPermission}
        disabledReason={isLive ? "This code is live" : undefined}
        onClick={askToPublish}
      >
        Publish
      </Button>
      {isChanged && (
        <span class="row">
          <Badge tone="warn">Not saved</Badge>
          <Button compact kind="plain" onClick={onDiscard}>
            Discard changes
          </Button>
        </span>
      )}
    </div>
  );
}

/** Shows what the tests found, and asks. */
export function PublishDialog(props: {
  report: RunReport;
  kind: CodeKind;
  onClose: () => void;
  onPublish: () => Promise<unknown>;
}) {
  const { report, kind, onClose, onPublish } = props;
  const [error, setError] = useState<unknown>();
  const warning = warningOf(report);
  const ends = report.results.map((it) => outcomeOf(it).text);
  return (
    <Dialog title="Publish?" onClose={onClose}>
      <p>
        {pluralize(report.results.length, "test event")} passed:{" "}
        {ends.map((it) => it.toLowerCase()).join(", ")}.
      </p>
      {warning && <p class="notice warn">{warning}</p>}
      <p class="quiet">
        {kind === libraries
          ? "Everything published that imports it is tested with it, and uses it from the next batch on."
          : "Its destinations use it from the next batch on. The revision that is live now is kept."}
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
