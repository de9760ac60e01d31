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
  /** `transform`: user code failed. `deliver`: the event could not or must not be delivered. */
  stage: "transform" | "deliver";
  reason: string;
  line?: number;
  column?: number;
  attempts: number;
  /**
   * Failed attempts; if there were many, only the first and the last ones. Absent in letters of
   * earlier versions.
   */
  failedAttempts?: FailedAttempt[];
  /** Id of the group of letters with the same failure that this letter is in. */
  groupId?: string | undefined;
  /** The answer of the receiver to the last attempt. Absent when it did not answer. */
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
   * Whether the headers and the text are those of the response to another letter of the group, with
   * equal status and code, because this letter's response is not stored.
   */
  isSample?: true;
}

/** A dead letter as the ledger stores it, with the additional data that a replay needs. */
export interface StoredLetter extends Omit<DeadLetter, "event" | "response" | "groupId"> {
  /** HTTP status of the receiver's response to the last attempt; `code` is its error code. */
  status?: number;
  code?: string;
  /** Id of the receiver's response, if it has headers or a text besides status and error code. */
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
 * A dead letter that is about to be stored, with the receiver's response. The ledger stores
 * responses apart from the letters, and only a few for each group.
 */
export interface NewLetter extends StoredLetter {
  response?: ShownAnswer;
}

/**
 * A dead letter that waits to be sent again. `replayedAt` is the time of the request to send it
 * again, in milliseconds since the epoch.
 */
export interface RequeuedLetter {
  letter: StoredLetter;
  replayedAt: number;
  /** Id of the replay that requeued the letter; absent when an earlier version requeued it. */
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
  /** Ids of groups; a letter matches if it is in any of them. Never set along with `groupId`. */
  groupIds?: readonly string[];
  /** Text that the letter's reason must contain; upper and lower case count as equal. */
  reason?: string;
  /** Id of the transformation version that ran over the event. */
  transformationVersionId?: string;
  /**
   * Letters created from `from` (inclusive) to `to` (exclusive) match. Both are in milliseconds
   * since the epoch.
   */
  from?: number;
  to?: number;
}

/**
 * Limits of a scan of dead letters in the order of their ids: it reads ids above `after` and below
 * `before`, and returns at most `count` matches.
 */
export interface LetterScan {
  after: string;
  before: string;
  count: number;
  /**
   * The present time in milliseconds since the epoch. If given, the scan also finds letters whose
   * ids have a later time, even above `before`: a clock that was ahead gave them this time.
   */
  now?: number;
}

export interface LetterScanResult {
  ids: string[];
  /**
   * `seen` is the number of dead letters that the scan read. `reached` is the id of the last one,
   * after which the next scan continues; undefined when no letters are left.
   */
  seen: number;
  reached: string | undefined;
}

/**
 * Dead letters of one destination with the same failure: their stage, status, code and reason are
 * equal. Numbers, ids, quoted values and times in the reason may differ.
 */
export interface LetterGroup extends LetterOwner {
  id: string;
  stage: "transform" | "deliver";
  /**
   * The reason of the group's first letter. In the reasons of other letters, numbers, ids, quoted
   * values and times can differ from it.
   */
  reason: string;
  count: number;
  /**
   * Creation time of the letter added first, in milliseconds since the epoch. Undefined in a group
   * that an older version of pixelmill began.
   */
  firstAt?: number;
  /** Creation time of the letter added last, in milliseconds since the epoch. */
  lastAt: number;
  status?: number;
  code?: string;
}

/** A group of dead letters, with the receivers' answers that are stored for it, latest first. */
export interface LetterGroupDetails extends LetterGroup {
  responses: { at: number; response: ShownAnswer }[];
}
