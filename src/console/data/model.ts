import type { AnswerOf } from "../../api/client.ts";

// Names for types of API answers that several screens use.

export type ConsoleSession = AnswerOf<"GET /v2/session">["session"];
export type Permission = ConsoleSession["permissions"][number];

export type Source = AnswerOf<"GET /v2/sources">["sources"][number];
export type Destination = AnswerOf<"GET /v2/destinations">["destinations"][number];
export type Connection = AnswerOf<"GET /v2/connections">["connections"][number];

export type Overview = AnswerOf<"GET /v2/overview">;
export type DestinationOverview = Overview["destinations"][number];

export type DestinationRow = AnswerOf<"GET /v2/status/destinations">["destinations"][number];
export type ConnectionRow = AnswerOf<"GET /v2/status/connections">["connections"][number];

export type DeadLetter = AnswerOf<"GET /v2/dead-letters/{id}">["deadLetter"];
export type ReceiverResponse = NonNullable<DeadLetter["response"]>;
export type DestinationFailure = NonNullable<
  AnswerOf<"GET /v2/destinations/{id}/failure">["failure"]
>;
export type LetterPage = AnswerOf<"GET /v2/dead-letters">;
export type DeadLetterGroups = AnswerOf<"GET /v2/dead-letter-groups">;
export type DeadLetterGroup = DeadLetterGroups["deadLetterGroups"][number];
export type DeadLetterGroupDetails = AnswerOf<"GET /v2/dead-letter-groups/{id}">["deadLetterGroup"];
/** A recent event as it was received, before user code, with its outcome at each destination. */
export type RecentEvent = AnswerOf<"GET /v2/events/recent">["events"][number];

/** All states that a destination can have, the most urgent first. */
export const statesByUrgency: readonly DestinationOverview["state"][] = [
  "down",
  "failing",
  "suspended",
  "blocked",
  "unknown",
  "waiting",
  "lagging",
  "ok",
  "paused",
  "unconnected",
  "external",
];
