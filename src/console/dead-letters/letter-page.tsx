import { Button, CopyButton } from "../components/button.tsx";
import { CodeBlock, JsonBlock } from "../components/code-block.tsx";
import { ConfirmButton } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Panel, ScreenHeader, Skeleton } from "../components/layout.tsx";
import { Time } from "../components/time.tsx";
import { showToast } from "../components/toasts.ts";
import { eventName } from "../data/event-name.ts";
import { useNames } from "../data/list-all.ts";
import { addSampleEvent } from "../data/sample-events.ts";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { formatCount } from "../format.ts";
import { hrefTo, navigate } from "../router.ts";
import { StageBadge } from "./group-list.tsx";
import type { DeadLetter } from "./letter-groups.ts";

/** One dead letter: the event, why it was given up, and where in the code. */
export function DeadLetterPage({ id }: { id: string }) {
  const { value, error, reload } = useResource(
    async () => (await client.call("GET /v2/dead-letters/{id}", { params: { id } })).deadLetter,
    [id],
  );
  return (
    <>
      <ScreenHeader
        title={value ? eventName(value.event) : "Dead letter"}
        way={{ href: hrefTo("dead-letters"), text: "Dead letters" }}
        beside={value && <StageBadge stage={value.stage} />}
      >
        {value && <LetterActions letter={value} />}
      </ScreenHeader>
      <ErrorNotice error={error} retry={reload} />
      {value ? <LetterDetails letter={value} /> : error === undefined && <Skeleton />}
    </>
  );
}

function LetterDetails({ letter }: { letter: DeadLetter }) {
  const { reason, line, column, stage, event } = letter;
  return (
    <div class="columns">
      <div class="stack">
        <Panel title="Why it was given up">
          <CodeBlock text={reason} name="reason" wrap />
          {line !== undefined && (
            <p>
              Line {line}
              {column !== undefined && `, column ${column}`} of the code.{" "}
              <OpenInEditor letter={letter} />
            </p>
          )}
        </Panel>
        <Panel title={stage === "deliver" ? "Event, as it was to be delivered" : "Event"}>
          <JsonBlock value={event} what="event" />
        </Panel>
      </div>
      <Panel title="Dead letter">
        <LetterFacts letter={letter} />
      </Panel>
    </div>
  );
}

function LetterFacts({ letter }: { letter: DeadLetter }) {
  const { sourceId, destinationId, messageId, attempts, receivedAt, createdAt } = letter;
  const names = useNames();
  return (
    <dl class="facts">
      <dt>Source</dt>
      <dd>
        <a href={hrefTo("sources", sourceId)}>{names.source(sourceId)}</a>
      </dd>
      <dt>Destination</dt>
      <dd>
        <a href={hrefTo("destinations", destinationId)}>{names.destination(destinationId)}</a>
      </dd>
      <dt>Attempts</dt>
      <dd>{formatCount(attempts)}</dd>
      <dt>Received</dt>
      <dd>
        <Time at={receivedAt} />
      </dd>
      <dt>Given up</dt>
      <dd>
        <Time at={createdAt} />
      </dd>
      <dt>Message id</dt>
      <dd>
        <code>{messageId}</code>
        <CopyButton text={messageId} what="message id" />
      </dd>
    </dl>
  );
}

/** The transformation that the destination has, with the event to run it on. */
function OpenInEditor({ letter }: { letter: DeadLetter }) {
  const { destinationId, event, line, column } = letter;
  const { value } = useResource(
    () =>
      client.call("GET /v2/destinations/{id}/transformation", { params: { id: destinationId } }),
    [destinationId],
  );
  if (value === undefined) return null;
  return (
    <a
      href={hrefTo("transformations", value.transformationId, { line, column })}
      onClick={() => addSampleEvent(event, "Dead letter")}
    >
      Open in editor
    </a>
  );
}

function LetterActions({ letter }: { letter: DeadLetter }) {
  const ids = [letter.id];
  return (
    <>
      {letter.line === undefined && letter.transformationVersionId && (
        <OpenInEditor letter={letter} />
      )}
      <Button
        icon="turn"
        needs="events:replay"
        onClick={async () => {
          await client.call("POST /v2/dead-letters/replay", { body: { ids } });
          showToast("The event is on its way again");
          navigate(hrefTo("dead-letters"));
        }}
      >
        Replay
      </Button>
      <ConfirmButton
        icon="bin"
        needs="events:replay"
        title="Purge this dead letter?"
        text="The event would be gone for good."
        action="Purge"
        onConfirm={async () => {
          await client.call("POST /v2/dead-letters/purge", { body: { ids } });
          showToast("The dead letter is deleted");
          navigate(hrefTo("dead-letters"));
        }}
      >
        Purge
      </ConfirmButton>
    </>
  );
}
