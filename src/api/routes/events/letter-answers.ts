import { type Static, Type } from "@sinclair/typebox";
import type { FailedAttempt } from "../../../pipeline/model/attempt.ts";
import type {
  LetterGroup,
  LetterGroupDetails,
  DeadLetter as ShownLetter,
} from "../../../pipeline/model/dead-letter.ts";
import { component, optionalFlag, text } from "../../../settings/schema-types.ts";
import { answerOf, isoTime, Stage, Time } from "../../schema/common.ts";

const responseFields = {
  status: Type.Optional(Type.Integer({ description: "HTTP status" })),
  code: Type.Optional(text("Error code of a database, a broker or an object store")),
  headers: Type.Optional(
    Type.Record(Type.String(), Type.String(), { description: "Some of the HTTP headers" }),
  ),
  body: Type.Optional(text("The beginning of the HTTP body, or the text of the error")),
  isCut: optionalFlag("Whether the receiver sent more than `body`"),
};

/** Schema of a receiver's HTTP response to a delivery. */
export const ReceiverResponse = Type.Object(responseFields, {
  $id: "ReceiverResponse",
  description: "What the receiver answered, with secrets replaced by `***`",
});

export const DeadLetter = component("DeadLetter", {
  id: Type.String(),
  sourceId: Type.String(),
  destinationId: Type.String(),
  transformationVersionId: Type.Optional(Type.String()),
  messageId: Type.String(),
  stage: Stage,
  reason: Type.String(),
  line: Type.Optional(Type.Integer()),
  column: Type.Optional(Type.Integer()),
  attempts: Type.Integer(),
  failedAttempts: Type.Optional(
    Type.Array(
      Type.Object({
        at: Time,
        durationMs: Type.Integer(),
        status: Type.Optional(Type.Integer({ description: "HTTP status" })),
        reason: Type.String(),
      }),
      { description: "The first and the last ones; `attempts` counts all" },
    ),
  ),
  groupId: Type.Optional(text("Id of its group of dead letters")),
  response: Type.Optional(
    Type.Object(
      {
        ...responseFields,
        isSample: optionalFlag(
          "Whether headers and body came with another dead letter of the group, since only " +
            "a few of a group are kept",
        ),
      },
      { description: "What the receiver answered to the last attempt" },
    ),
  ),
  event: Type.Unknown({ description: "As it entered the stage that failed" }),
  receivedAt: Time,
  createdAt: Time,
});

export const DeadLetterGroup = component("DeadLetterGroup", {
  id: Type.String(),
  destinationId: Type.String(),
  stage: Stage,
  reason: text(
    "Of the first of them; the others may have other numbers, ids, times and quoted values in it",
  ),
  status: Type.Optional(Type.Integer({ description: "HTTP status of the receiver" })),
  code: Type.Optional(text("Error code of the receiver")),
  count: Type.Integer(),
  firstAt: Type.Optional({ ...Time, description: "When the first of them was given up" }),
  lastAt: Time,
});

export const DeadLetterGroupDetails = component("DeadLetterGroupDetails", {
  ...DeadLetterGroup.properties,
  responses: Type.Array(Type.Object({ at: Time, response: ReceiverResponse }), {
    description: "A few of the receiver's answers, latest first",
  }),
});

export const groupAnswer = (group: LetterGroup) => answerOf(DeadLetterGroup, group);

export function groupDetailsAnswer(
  group: LetterGroupDetails,
): Static<typeof DeadLetterGroupDetails> {
  const responses = group.responses.map(({ at, response }) => ({ at: isoTime(at), response }));
  return { ...groupAnswer(group), responses };
}

export function deadLetterAnswer(letter: ShownLetter): Static<typeof DeadLetter> {
  return answerOf(DeadLetter, {
    ...letter,
    failedAttempts: letter.failedAttempts?.map((it) => attemptAnswer(it, letter.reason)),
  });
}

function attemptAnswer({ at, durationMs, status, reason }: FailedAttempt, letterReason: string) {
  return {
    at: isoTime(at),
    durationMs,
    ...(status !== undefined && { status }),
    reason: reason ?? letterReason,
  };
}
