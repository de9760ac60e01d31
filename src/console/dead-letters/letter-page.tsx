import { Button, CopyableCode } from "../components/button.tsx";
import { CodeBlock, JsonBlock } from "../components/code-block.tsx";
import { ConfirmButton } from "../components/dialog.tsx";
import { FactList, Panel, ScreenHeader } from "../components/layout.tsx";
import { Loaded } from "../components/loaded.tsx";
import { Time } from "../components/time.tsx";
import { showToast } from "../components/toasts.ts";
import { eventName } from "../data/event-name.ts";
import type { DeadLetter } from "../data/model.ts";
import { addSampleEvent } from "../data/sample-events.ts";
import { client } from "../data/session.ts";
import { useNames } from "../data/use-names.ts";
import { useResource } from "../data/use-resource.ts";
import { formatCount } from "../format.ts";
import { hrefTo, navigate } from "../router.ts";
import { StageBadge } from "./group-list.tsx";

/**
 * Screen of one dead letter (an event that was given up), with its event, its failure reason and
 * the line of code that failed.
 */
export function DeadLetterPage({ id }: { id: string }) {
  const resource = useResource(
    async () => (await client.call("GET /v2/dead-letters/{id}", { params: { id } })).deadLetter,
    [id],
  );
  const { value } = resource;
  return (
    <>
      <ScreenHeader
        title={value ? eventName(value.event) : "Dead letter"}
        parent={{ href: hrefTo("dead-letters"), text: "Dead letters" }}
        status={value && <StageBadge stage={value.stage} />}
      >
        {value && <LetterActions letter={value} />}
      </ScreenHeader>
      <Loaded resource={resource}>{(letter) => <LetterDetails letter={letter} />}</Loaded>
    </>
  );
}

function LetterDetails({ letter }: { letter: DeadLetter }) {
  const { reason, line, column, stage, event } = letter;
  return (
    <div class="columns">
      <div class="stack">
        <Panel title="Failure reason">
          <CodeBlock text={reason} name="reason" wrap />
          {line !== undefined && (
            <p>
              Line {line}
              {column !== undefined && `, column ${column}`} of the code.{" "}
              <OpenInEditor letter={letter} />
            </p>
          )}
        </Panel>
        <Panel title={stage === "deliver" ? "Event to deliver" : "Event"}>
          <JsonBlock value={event} name="event" />
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
    <FactList
      facts={[
        ["Source", <a href={hrefTo("sources", sourceId)}>{names.source(sourceId)}</a>],
        [
          "Destination",
          <a href={hrefTo("destinations", destinationId)}>{names.destination(destinationId)}</a>,
        ],
        ["Attempts", formatCount(attempts)],
        ["Received", <Time at={receivedAt} />],
        ["Failed at", <Time at={createdAt} />],
        ["Message id", <CopyableCode value={messageId} name="message id" />],
      ]}
    />
  );
}

/**
 * Link to the destination's transformation. A click adds the event to the sample events, so that
 * the user can run it in the editor.
 */
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
      onClick={() => addSampleEvent(event)}
    >
      Open in editor
    </a>
  );
}

function LetterActions({ letter }: { letter: DeadLetter }) {
  const body = { ids: [letter.id] };
  return (
    <>
      {letter.line === undefined && letter.transformationVersionId && (
        <OpenInEditor letter={letter} />
      )}
      <Button
        icon="turn"
        needs="events:replay"
        onClick={async () => {
          await client.call("POST /v2/dead-letters/replay", { body });
          showToast("Event requeued");
          navigate(hrefTo("dead-letters"));
        }}
      >
        Replay
      </Button>
      <ConfirmButton
        icon="bin"
        needs="events:replay"
        title="Purge this dead letter?"
        text="The event will be deleted. This can't be undone."
        action="Purge"
        onConfirm={async () => {
          await client.call("POST /v2/dead-letters/purge", { body });
          showToast("Dead letter deleted");
          navigate(hrefTo("dead-letters"));
        }}
      >
        Purge
      </ConfirmButton>
    </>
  );
}
