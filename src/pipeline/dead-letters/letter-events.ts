import { defined } from "../../defined.ts";
import { cutText } from "../../errors.ts";
import { idsOfEvent } from "../../event/sdk/event.ts";
import type { FailedAttempt } from "../model/attempt.ts";
import type { NewLetter, RequeuedLetter } from "../model/dead-letter.ts";
import {
  createLaneEvent,
  EVENT_OVERHEAD_BYTES,
  type EventOutcome,
  type LaneEvent,
  type Output,
} from "../model/lane-event.ts";

/**
 * Creates the dead letter of an event that could not be transformed or delivered. The letter's id
 * is a UUID of version 7, so that ids sort by time.
 */
export function createDeadLetter(
  output: Output,
  ending: EventOutcome & { kind: "dead-letter" },
  destination: { id: string; workspaceId: string },
  now: number,
): NewLetter {
  const { laneEvent, live, bytes } = output;
  const { input } = laneEvent;
  const { event } = input;
  const { reason, response, line, column } = ending;
  const text = Buffer.from(bytes).toString();
  const original = live && Buffer.from(event.json).toString();
  return {
    id: Bun.randomUUIDv7("hex", now),
    workspaceId: destination.workspaceId,
    sourceId: input.sourceId,
    destinationId: destination.id,
    messageId: input.messageId,
    stage: ending.stage,
    reason,
    attempts: output.attempts,
    text,
    user: event.user,
    type: input.type,
    receivedAt: input.receivedAt,
    createdAt: now,
    ...defined({
      transformationVersionId: live?.transformation.versionId,
      programId: live?.id,
      original: original === text ? undefined : original,
      name: event.name,
      line,
      column,
      failedAttempts: output.failedAttempts && storedAttempts(output.failedAttempts, reason),
      response,
      status: response?.status,
      code: response?.code,
    }),
  };
}

/**
 * Returns the failed attempts in the form that a dead letter stores. The reason of an attempt is
 * left out if it equals the letter's reason, which is the normal case. Any other reason is
 * truncated.
 */
function storedAttempts(attempts: readonly FailedAttempt[], letterReason: string): FailedAttempt[] {
  return attempts.map(({ reason, ...rest }) => {
    if (reason === undefined || reason === letterReason) return rest;
    return { ...rest, reason: cutText(reason, ATTEMPT_REASON_CHARS_MAX) };
  });
}

/**
 * Maximum number of characters of a failed attempt's reason that a dead letter stores. A longer
 * reason is truncated. A reason that equals the dead letter's own reason is left out.
 */
const ATTEMPT_REASON_CHARS_MAX = 200;

/**
 * Creates the event that is delivered for a requeued dead letter. It is the event as it was
 * received, so that the published user code runs over it again.
 */
export function createRequeuedEvent({ letter, replayedAt, jobId }: RequeuedLetter): LaneEvent {
  const { messageId, sourceId, receivedAt, type, user, name } = letter;
  const json = Buffer.from(letter.original ?? letter.text);
  return createLaneEvent({
    input: {
      messageId,
      sourceId,
      receivedAt,
      type,
      event: { json, user, name, ...idsOfEvent(json) },
    },
    origin: { requeued: letter, jobId },
    retryWindowStart: replayedAt,
    bytes: json.length + EVENT_OVERHEAD_BYTES,
  });
}
