import type { ShownAnswer } from "../../destinations/answers/receiver-answer.ts";
import type { FailedAttempt } from "./attempt.ts";

/** An event that could not be delivered. It is stored until it is replayed or deleted. */
export interface DeadLetter {
  id: string;
  workspaceId: string;
  sourceId: string;
  destinationId: string;
  transformationVersionId?: string;
  messageId: string;
  /**
   * The stage that failed. `transform`: user code failed. `deliver`: the event could not be
   * delivered, or delivery was not allowed, such as to a disabled destination.
   */
  stage: "transform" | "deliver";
  reason: string;
  line?: number;
  column?: number;
  attempts: number;
  /**
   * Failed attempts to deliver the event; if there were many, only the first and the latest ones.
   * Absent in letters that an earlier version of pixelmill stored.
   */
  failedAttempts?: FailedAttempt[];
  /** Id of the group of dead letters that failed like this one. */
  groupId?: string | undefined;
  /**
   * The receiver's answer to the last attempt. Its headers and text may be missing, or be those of
   * a similar letter (see `isSample`). Absent if no answer came, or if nothing of it is stored.
   */
  response?: LetterResponse | undefined;
  /**
   * The event as it entered the failed stage: before user code for `transform`, after it for
   * `deliver`.
   */
  event: unknown;
  receivedAt: number;
  createdAt: number;
}

/** A receiver's answer, as a dead letter shows it. */
export interface LetterResponse extends ShownAnswer {
  /**
   * Whether the headers and the text are those of another dead letter's response, because this
   * letter's own response is not stored. Both letters have the same group, status and error code.
   */
  isSample?: true;
}

/** A dead letter in the form in which the ledger stores it, with the data that a replay needs. */
export interface StoredLetter extends Omit<DeadLetter, "event" | "response" | "groupId"> {
  /** HTTP status of the response to the last attempt; `code` is the error code in this response. */
  status?: number;
  code?: string;
  /**
   * Id under which the ledger stores the receiver's response. Absent when there is no response, and
   * when the response has neither headers nor text, but only a status and an error code.
   */
  responseId?: string;
  /** JSON text of the event as it entered the stage that failed. */
  text: string;
  /** JSON text of the event as it was received; absent when it equals `text`. */
  original?: string;
  /** Id of the program (user code) that turned `original` into `text`; absent when no code did. */
  programId?: string;
  user: string;
  type: string;
  name?: string;
}

/**
 * A dead letter to be stored, together with the receiver's response. The ledger stores responses in
 * a separate table, and only a few responses for each group of letters.
 */
export interface NewLetter extends StoredLetter {
  response?: ShownAnswer;
}

/**
 * A dead letter that waits to be sent again. `replayedAt` is the time at which this was requested,
 * in milliseconds since the epoch.
 */
export interface RequeuedLetter {
  letter: StoredLetter;
  replayedAt: number;
  /** Id of the replay that requeued the letter; absent if an older pixelmill release did so. */
  jobId?: string | undefined;
}

/** The workspace and the destination to which dead letters belong. */
export interface LetterOwner {
  workspaceId: string;
  destinationId: string;
}

/** A filter of dead letters. A letter matches when it matches all fields that are set. */
export interface LetterFilter {
  destinationId?: string;
  groupId?: string;
  /** Ids of groups. A letter matches if it is in any of them. */
  groupIds?: readonly string[];
  /** Text that the letter's reason must contain; upper and lower case count as equal. */
  reason?: string;
  /** Id of the version of user code that ran over the event. */
  transformationVersionId?: string;
  /**
   * Earliest creation time of matching letters (inclusive); `to` is the end of the time range
   * (exclusive). Both are in milliseconds since the epoch.
   */
  from?: number;
  to?: number;
}

/**
 * Limits of a scan of dead letters in ascending order of ids. The scan reads letters with ids above
 * `after` and below `before`. It ends when it has found `count` letters that match its filter.
 */
export interface LetterScan {
  after: string;
  before: string;
  count: number;
  /**
   * Current time in milliseconds since the epoch. If given, the scan also reads letters above
   * `before` that were created while the clock was ahead: their ids contain a time at least
   * `STEP_MS_MIN` milliseconds after `now`.
   */
  now?: number;
}

export interface LetterScanResult {
  ids: string[];
  /**
   * Number of dead letters that the scan read. `reached` is the id of the last one: pass it as
   * `after` to continue the scan. `reached` is undefined if the scan has read all letters.
   */
  seen: number;
  reached: string | undefined;
}

/**
 * Dead letters of one destination with the same failure: they have the same stage, status and code,
 * and the same reason, except for numbers, ids, quoted values and times in it.
 */
export interface LetterGroup extends LetterOwner, Pick<StoredLetter, "stage" | "status" | "code"> {
  id: string;
  /**
   * Reason of the group's first letter. The reasons of the other letters are the same, except for
   * numbers, ids, quoted values and times.
   */
  reason: string;
  count: number;
  /**
   * Creation time of the first letter of the group, in milliseconds since the epoch. Absent if an
   * earlier version of pixelmill began the group.
   */
  firstAt?: number;
  /** Creation time of the letter that was added last, in milliseconds since the epoch. */
  lastAt: number;
}

/** A group of dead letters, with the receivers' answers that are stored for it, latest first. */
export interface LetterGroupDetails extends LetterGroup {
  responses: { at: number; response: ShownAnswer }[];
}
