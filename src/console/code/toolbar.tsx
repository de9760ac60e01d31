import { useState } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Fault } from "../parts/fault.tsx";
import { Badge } from "../parts/layout.tsx";
import { plural } from "../text.ts";
import { type Kind, libraries } from "./kinds.ts";
import { endOf, type Report, warningOf } from "./run.ts";

/** What can be done with the code that is written. */
export function Toolbar(props: {
  kind: Kind;
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
      <Button kind="main" icon="play" needs={kind.edit} busy={busy === "run"} onClick={onRun}>
        Run
      </Button>
      <Button
        needs={kind.edit}
        busy={busy === "save"}
        unless={isChanged ? undefined : "Nothing has changed"}
        onClick={onSave}
      >
        Save draft
      </Button>
      <Button
        icon="check"
        needs={kind.edit}
        unless={isLive ? "This code is live" : undefined}
        onClick={askToPublish}
      >
        Publish
      </Button>
      {isChanged && (
        <span class="row">
          <Badge tone="warn">Not saved</Badge>
          <Button tight kind="plain" onClick={onDiscard}>
            Discard changes
          </Button>
        </span>
      )}
    </div>
  );
}

/** Shows what the tests found, and asks. */
export function AskToPublish(props: {
  report: Report;
  kind: Kind;
  onClose: () => void;
  onPublish: () => Promise<unknown>;
}) {
  const { report, kind, onClose, onPublish } = props;
  const [error, setError] = useState<unknown>();
  const warning = warningOf(report);
  const ends = report.results.map((it) => endOf(it).text);
  return (
    <Dialog title="Publish?" onClose={onClose}>
      <p>
        {plural(report.results.length, "test event")} passed:{" "}
        {ends.map((it) => it.toLowerCase()).join(", ")}.
      </p>
      {warning && <p class="notice warn">{warning}</p>}
      <p class="quiet">
        {kind === libraries
          ? "Everything published that imports it is tested with it, and uses it from the next batch on."
          : "Its destinations use it from the next batch on. The revision that is live now is kept."}
      </p>
      <Fault error={error} />
      <div class="ends">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="main" onClick={() => onPublish().catch(setError)}>
          Publish
        </Button>
      </div>
    </Dialog>
  );
}
