import { formatCount, pluralize } from "../format.ts";

/** Texts of the screens of dead letters (events that were given up). */
export const deadLetterTexts = {
  purge: "Purge",
  searchReasons: "Search reasons",
  reasons: "Reasons",
  noDeadLetters: "No dead letters",
  deadLettersExplained:
    "An event that cannot be delivered, or that fails in the transformation, is kept here with its reason until you replay or purge it.",
  response: "Response of the receiver",
  latestResponse: "Latest response of the receiver",
  responseNoun: "response",
  httpStatus: "HTTP status",
  errorCode: "Error code",
  responseIsSample:
    "Headers and body came with another dead letter of this reason, since only a few of them are kept.",
  responseIsCut: "Truncated: the receiver sent more than is shown.",
  emptyResponse: "The response has no body.",
  duration: "Duration",
  attemptsShown: (shown: number, all: number) =>
    `The first and last ${formatCount(shown)} of ${formatCount(all)} attempts`,
  otherResponses: (count: number) => pluralize(count, "other response"),
  noReasonGiven: "No reason given",
  failedIn: "Failed in",
  first: "First",
  latest: "Latest",
  allDeadLetters: "All dead letters",
  allReasons: "All reasons",
  noLettersHint: "They were replayed or purged.",
  clearSelection: "Clear selection",
  selectPage: "Select page",
  attempts: "Attempts",
  failedAt: "Failed at",
  deadLetter: "Dead letter",
  failureReason: "Failure reason",
  reasonNoun: "reason",
  eventToDeliver: "Event to deliver",
  messageIdNoun: "message id",
  eventRequeued: "Event requeued",
  replay: "Replay",
  purgeOneQuestion: "Purge this dead letter?",
  purgeOneConsequence: "The event will be deleted. This can't be undone.",
  deadLetterDeleted: "Dead letter deleted",
  gone: "This dead letter was already replayed or purged",
  finished: {
    replay: (count: number) => `${pluralize(count, "dead letter")} requeued`,
    purge: (count: number) => `${pluralize(count, "dead letter")} deleted`,
  },
  started: { replay: "Replay started", purge: "Purge started" },
  all: (count: number) => `all ${formatCount(count)}`,
  selected: (count: number) => `${formatCount(count)} selected`,
  replayOf: (letters: string) => `Replay ${letters}`,
  purgeOf: (letters: string) => `Purge ${letters}`,
  bulkQuestion: {
    replay: (count: number) => `Replay ${pluralize(count, "dead letter")}?`,
    purge: (count: number) => `Purge ${pluralize(count, "dead letter")}?`,
  },
  bulkConsequence: {
    replay: (count: number) =>
      `${pluralize(count, "event")} will be sent again, through the transformation that is live now.`,
    purge: (count: number) => `${pluralize(count, "event")} will be deleted. This can't be undone.`,
  },
  /** Notice when the number of dead letters has changed and the action needs a new confirmation. */
  countChanged: (shown: number, now: number) =>
    `Nothing was changed: there were ${formatCount(shown)} dead letters in the list, and there are ${formatCount(now)} now.`,
  more: (count: number) => `and ${formatCount(count)} more`,
  matching: (count: number) => `${formatCount(count)} matching`,
  tooManyReasons: (found: number, max: number) =>
    `${formatCount(found)} reasons match, and ${formatCount(max)} can be replayed or purged at a time. Enter more of the reason, or select a destination.`,
  reasonsCut: (shown: number, all: number) =>
    `Only the ${formatCount(shown)} most frequent of ${formatCount(all)} reasons are listed and searched. Select a destination to see fewer.`,
  listAll: (count: number) => `List all ${formatCount(count)}`,
  stages: { transform: "transformation", deliver: "delivery" },
  select: (event: string) => `Select ${event}`,
  order: (count: number) => `${pluralize(count, "event")}, oldest first`,
  codePosition: (line: number, column: number | undefined) =>
    column === undefined
      ? `Line ${line} of the code.`
      : `Line ${line}, column ${column} of the code.`,
};
