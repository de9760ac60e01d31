import { Button, LinkButton } from "../components/button.tsx";
import { linesOf } from "../components/forms/fields.tsx";
import { Icon } from "../components/icon.tsx";
import { ClampedText } from "../components/layout.tsx";
import { Since, Time } from "../components/time.tsx";
import type { DestinationFailure, DestinationRow } from "../data/model.ts";
import { missingPermission } from "../data/session.ts";
import { FoldedResponse } from "../dead-letters/receiver-response.tsx";
import { hrefTo } from "../router.ts";
import { deadLetterTexts } from "../texts/dead-letters.ts";
import { destinationTexts } from "../texts/destinations.ts";

const troubled = new Set<DestinationRow["state"]>(["down", "failing", "suspended"]);

/**
 * Panel on a destination's page that says what is wrong and what to do. Hidden if the destination
 * works and has no dead letters.
 */
export function Trouble(props: {
  state: DestinationRow;
  /** The latest failed delivery. Undefined if none is known. */
  failure: DestinationFailure | undefined;
  onTest: () => void;
}) {
  const { state, failure, onTest } = props;
  const response = failure?.response;
  const { id, deadLetters, lastError, transformationId } = state;
  const isTroubled = troubled.has(state.state);
  const isOfCode = failsInCode(state);
  const waits = !isTroubled && state.reason !== undefined;
  if (!isTroubled && !waits && deadLetters === 0) return null;
  return (
    <section
      class={isTroubled ? "error trouble" : "notice trouble"}
      aria-label={destinationTexts.trouble}
    >
      <div class="row">
        <span class={isTroubled ? "bad" : "warn"}>
          <Icon name="alert" />
        </span>
        {lastError && (
          <span class="quiet small">
            {isTroubled && state.since
              ? destinationTexts.noSuccess(<Since at={state.since} />)
              : destinationTexts.lastFailed(<Time at={lastError.at} />)}
          </span>
        )}
      </div>
      {waits && <p class="cause">{state.reason}</p>}
      {lastError && (
        <p class="cause">
          <ClampedText
            text={destinationTexts.cause(
              lastError.reason,
              isOfCode ? undefined : linesOf(response?.body ?? "")[0],
            )}
          />
        </p>
      )}
      <p class="advice">{adviceFor(state, failure)}</p>
      {response && !isOfCode && (
        <FoldedResponse response={response} title={deadLetterTexts.latestResponse} />
      )}
      {deadLetters > 0 && <p>{destinationTexts.failedEvents(deadLetters)}</p>}
      <div class="row">
        {isOfCode && transformationId !== undefined ? (
          <LinkButton href={hrefTo("transformations", transformationId)}>
            {destinationTexts.openTransformation}
          </LinkButton>
        ) : (
          <LinkButton
            needs="workspace:admin"
            href={hrefTo("destinations", id, { tab: "settings" })}
          >
            {destinationTexts.editSettings}
          </LinkButton>
        )}
        <Button needs="workspace:admin" onClick={onTest}>
          {destinationTexts.test}
        </Button>
        {deadLetters > 0 && (
          <LinkButton href={hrefTo("dead-letters", { destinationId: id, all: "1" })}>
            {missingPermission("events:replay") === undefined
              ? destinationTexts.reviewAndReplay(deadLetters)
              : destinationTexts.review(deadLetters)}
          </LinkButton>
        )}
      </div>
    </section>
  );
}

/**
 * Whether user code caused the latest failure, so that neither other settings nor a connection test
 * would help.
 */
function failsInCode({ state, lastError }: DestinationRow): boolean {
  return state === "suspended" || lastError?.stage === "transform";
}

/**
 * Returns advice about the latest failure. The advice depends on what caused the failure: user
 * code, no answer from the receiver, or the HTTP status of the answer.
 */
function adviceFor(state: DestinationRow, failure: DestinationFailure | undefined): string {
  const { advice } = destinationTexts;
  if (state.state === "suspended") return advice.suspended;
  if (failsInCode(state)) return advice.code;
  if (failure === undefined) return advice.other;
  const { response } = failure;
  if (response === undefined) return advice.unreachable;
  const { status } = response;
  if (status === undefined) return advice.other;
  if (status >= 500) return advice.receiverFails;
  if (status === 401 || status === 403) return advice.credentials;
  if (status === 404 || status === 405 || status === 410) return advice.address;
  if (status === 408 || status === 429) return advice.busy;
  return status >= 400 ? advice.content : advice.other;
}
