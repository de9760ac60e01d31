import { nameOf } from "../event-name.ts";
import { useNames } from "../every.ts";
import { useLoaded } from "../loaded.ts";
import { Button, Copy } from "../parts/button.tsx";
import { Code, Json } from "../parts/code.tsx";
import { AskingButton } from "../parts/dialog.tsx";
import { Fault } from "../parts/fault.tsx";
import { Head, Panel, Skeleton } from "../parts/layout.tsx";
import { tell } from "../parts/messages.ts";
import { Time } from "../parts/time.tsx";
import { pick } from "../picked.ts";
import { go, to } from "../router.ts";
import { client } from "../session.ts";
import { count } from "../text.ts";
import { StageBadge } from "./group-list.tsx";
import type { DeadLetter } from "./groups.ts";

/** One dead letter: the event, why it was given up, and where in the code. */
export function LetterPage({ id }: { id: string }) {
  const { value, error, reload } = useLoaded(
    async () => (await client.call("GET /v2/dead-letters/{id}", { params: { id } })).deadLetter,
    [id],
  );
  return (
    <>
      <Head
        title={value ? nameOf(value.event) : "Dead letter"}
        way={{ href: to("dead-letters"), text: "Dead letters" }}
        beside={value && <StageBadge stage={value.stage} />}
      >
        {value && <Actions letter={value} />}
      </Head>
      <Fault error={error} retry={reload} />
      {value ? <Shown letter={value} /> : error === undefined && <Skeleton />}
    </>
  );
}

function Shown({ letter }: { letter: DeadLetter }) {
  const { reason, line, column, stage, event } = letter;
  return (
    <div class="columns">
      <div class="stack">
        <Panel title="Why it was given up">
          <Code text={reason} what="reason" wrap />
          {line !== undefined && (
            <p>
              Line {line}
              {column !== undefined && `, column ${column}`} of the code.{" "}
              <OpenInEditor letter={letter} />
            </p>
          )}
        </Panel>
        <Panel title={stage === "deliver" ? "Event, as it was to be delivered" : "Event"}>
          <Json value={event} what="event" />
        </Panel>
      </div>
      <Panel title="Dead letter">
        <Facts letter={letter} />
      </Panel>
    </div>
  );
}

function Facts({ letter }: { letter: DeadLetter }) {
  const { sourceId, destinationId, messageId, attempts, receivedAt, createdAt } = letter;
  const names = useNames();
  return (
    <dl class="facts">
      <dt>Source</dt>
      <dd>
        <a href={to("sources", sourceId)}>{names.source(sourceId)}</a>
      </dd>
      <dt>Destination</dt>
      <dd>
        <a href={to("destinations", destinationId)}>{names.destination(destinationId)}</a>
      </dd>
      <dt>Attempts</dt>
      <dd>{count(attempts)}</dd>
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
        <Copy text={messageId} what="message id" />
      </dd>
    </dl>
  );
}

/** The transformation that the destination has, with the event to run it on. */
function OpenInEditor({ letter }: { letter: DeadLetter }) {
  const { destinationId, event, line, column } = letter;
  const { value } = useLoaded(
    () =>
      client.call("GET /v2/destinations/{id}/transformation", { params: { id: destinationId } }),
    [destinationId],
  );
  if (value === undefined) return null;
  return (
    <a
      href={to("transformations", value.transformationId, { line, column })}
      onClick={() => pick(event, "Dead letter")}
    >
      Open in editor
    </a>
  );
}

function Actions({ letter }: { letter: DeadLetter }) {
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
          tell("The event is on its way again");
          go(to("dead-letters"));
        }}
      >
        Replay
      </Button>
      <AskingButton
        icon="bin"
        needs="events:replay"
        title="Purge this dead letter?"
        text="The event would be gone for good."
        action="Purge"
        onConfirm={async () => {
          await client.call("POST /v2/dead-letters/purge", { body: { ids } });
          tell("The dead letter is deleted");
          go(to("dead-letters"));
        }}
      >
        Purge
      </AskingButton>
    </>
  );
}
