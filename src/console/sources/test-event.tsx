import { Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { FollowedMessage } from "../../api/client.ts";
import { Button } from "../components/button.tsx";
import { JsonBlock } from "../components/code-block.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { TextField } from "../components/forms/fields.tsx";
import { NamedLink } from "../components/item-link.tsx";
import { Badge } from "../components/layout.tsx";
import { Time } from "../components/time.tsx";
import type { ReceiverResponse, Source } from "../data/model.ts";
import { client, missingPermission } from "../data/session.ts";
import { FoldedResponse } from "../dead-letters/receiver-response.tsx";
import { hrefTo } from "../router.ts";
import { outcomeTones } from "../tail/tail-table.tsx";
import { commonTexts } from "../texts/common.ts";
import { sourceTexts } from "../texts/sources.ts";
import { tailTexts } from "../texts/tail.ts";

/**
 * Texts of the badges for what happened to a test event. The keys are the names of the live tail's
 * messages.
 */
const stageNames: Record<string, string> = {
  received: commonTexts.received,
  ...tailTexts.outcomeNames,
};

/**
 * Milliseconds for which the page follows a test event after it was sent. This is long enough for
 * the first retries of its deliveries.
 */
const FOLLOWED_MS = 30_000;

/**
 * Form that sends a test event from this browser to the data plane, and shows the event's outcome
 * at each destination.
 */
export function TestEvent({ source, dataPlane }: { source: Source; dataPlane: string }) {
  const [event, setEvent] = useState(commonTexts.testEvent);
  const [messages, setMessages] = useState<readonly FollowedMessage[]>();
  const [isStored, setStored] = useState(false);
  const [isFollowing, setFollowing] = useState(false);
  const [error, setError] = useState<unknown>();
  const following = useRef<AbortController>(null);
  useEffect(() => () => following.current?.abort(), []);

  async function send() {
    following.current?.abort();
    const stop = new AbortController();
    following.current = stop;
    setTimeout(() => stop.abort(), FOLLOWED_MS);
    setError(undefined);
    setMessages([]);
    setStored(false);
    setFollowing(true);
    const visitor = `console-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`;
    if (missingPermission("events:read") === undefined) {
      const opening = Promise.withResolvers<void>();
      const end = followVisitor(
        { sourceId: source.id, visitor, signal: stop.signal },
        opening.resolve,
        (it) => setMessages((before) => [...(before ?? []), it]),
      );
      void end.then(() => {
        opening.resolve();
        if (following.current === stop) setFollowing(false);
      });
      await opening.promise;
    }
    try {
      await sendPixel(dataPlane, { writeKey: source.writeKey, anonymousId: visitor, event });
      if (following.current === stop) setStored(true);
    } catch (thrown) {
      stop.abort();
      setMessages(undefined);
      setError(thrown);
    }
  }

  return (
    <>
      <form
        class="form"
        onSubmit={(submitted) => {
          submitted.preventDefault();
          void send();
        }}
      >
        <TextField label={commonTexts.event} value={event} onInput={setEvent} required />
        <div class="ends">
          <Button
            type="submit"
            icon="play"
            disabledReason={source.enabled ? undefined : sourceTexts.sourceDisabled}
          >
            {commonTexts.sendTestEvent}
          </Button>
          <a class="small" href={hrefTo("events", { sourceId: source.id })}>
            {sourceTexts.liveTailOfSource}
          </a>
        </div>
      </form>
      <ErrorNotice error={error} />
      {messages && !isStored && <Waiting text={sourceTexts.sendingTestEvent} />}
      {messages && isStored && <Arrivals messages={messages} isFollowing={isFollowing} />}
    </>
  );
}

function Waiting({ text }: { text: string }) {
  return (
    <p class="row quiet" aria-live="polite">
      <span class="spinner" /> {text}
    </p>
  );
}

function Arrivals(props: { messages: readonly FollowedMessage[]; isFollowing: boolean }) {
  const { messages, isFollowing } = props;
  const permission = missingPermission("events:read");
  if (permission !== undefined) {
    return <p class="notice">{sourceTexts.deliveryRequires(permission)}</p>;
  }
  const [received] = messages;
  return (
    <div class="stack close" aria-live="polite">
      {messages.length === 0 && isFollowing && <Waiting text={sourceTexts.awaitingDelivery} />}
      {messages.length === 0 && !isFollowing && <p class="warn">{sourceTexts.notFollowed}</p>}
      {messages.map(({ name: stage, data }) => (
        <Fragment key={stage + data.destinationId}>
          <p class="row">
            <Badge tone={outcomeTones[stage] ?? "accent"}>{stageNames[stage] ?? stage}</Badge>
            {typeof data.destinationId === "string" && (
              <NamedLink kind="destination" id={data.destinationId} />
            )}
            {typeof data.reason === "string" && <span class="bad">{data.reason}</span>}
            <span class="quiet small">
              <Time at={String(data.at)} />
            </span>
          </p>
          {isResponse(data.response) && <FoldedResponse response={data.response} isOpen />}
        </Fragment>
      ))}
      {received && <JsonBlock value={messages.at(-1)?.data.event} name={commonTexts.eventNoun} />}
    </div>
  );
}

const isResponse = (value: unknown): value is ReceiverResponse =>
  typeof value === "object" && value !== null;

/**
 * Follows the live tail (stream of new events) of a source until `signal` aborts or the tail ends.
 * Passes messages with the anonymous id `visitor` to `onMessage`. Never rejects.
 */
async function followVisitor(
  { sourceId, visitor, signal }: { sourceId: string; visitor: string; signal: AbortSignal },
  onOpen: () => void,
  onMessage: (message: FollowedMessage) => void,
): Promise<void> {
  try {
    for await (const message of client.follow({ sourceId }, signal, onOpen)) {
      const { event } = message.data as { event?: { anonymousId?: unknown } };
      if (event?.anonymousId === visitor || message.data.anonymousId === visitor)
        onMessage(message);
    }
  } catch {
    // The signal aborted, or the tail ended. The messages received so far stay visible.
  }
}

async function sendPixel(dataPlane: string, fields: Record<string, string>): Promise<void> {
  const query = new URLSearchParams(fields);
  const response = await fetch(`${dataPlane}/pixel/v1/track?${query}`, {
    credentials: "omit",
    cache: "no-store",
  }).catch(() => {
    throw new Error(sourceTexts.dataPlaneUnreachable(dataPlane));
  });
  if (!response.ok) throw new Error(sourceTexts.dataPlaneAnswered(response.status));
}
