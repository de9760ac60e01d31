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
  /** The first and the last of the attempts that failed. Absent in letters of earlier versions. */
  failedAttempts?: FailedAttempt[];
  /** Id of the group of the letters with the same failure. */
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
  /** Whether headers and text are those of another letter of the group, with the same status. */
  isSample?: true;
}

/** A dead letter as the ledger stores it, with the additional data that a replay needs. */
export interface StoredLetter extends Omit<DeadLetter, "event" | "response" | "groupId"> {
  /** HTTP status and error code of the receiver's answer to the last attempt. */
  status?: number;
  code?: string;
  /** Id of the receiver's answer, if it has more than status and code. */
  responseId?: string;
  /** JSON text of the event as it entered the stage that failed. */
  text: string;
  /** JSON text of the event as it was received; absent when it equals `text`. */
  original?: string;
  /** Id of the program that turned `original` into `text`; absent when no code did. */
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
 * A dead letter that waits to be sent again. `replayedAt` is when that was requested, in
 * milliseconds since the epoch.
 */
export interface RequeuedLetter {
  letter: StoredLetter;
  replayedAt: number;
  /** Id of the replay that requeued the letter; absent when an earlier version did. */
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
  /** Ids of several groups; letters of any of them match. Not together with `groupId`. */
  groupIds?: readonly string[];
  /** Text that the letter's reason contains, in upper or lower case. */
  reason?: string;
  /** Id of the transformation version that ran over the event. */
  transformationVersionId?: string;
  /**
   * Start of the letters' creation time, inclusive; `to` is the end, exclusive. Both are in
   * milliseconds since the epoch.
   */
  from?: number;
  to?: number;
}

/**
 * Bounds of a scan of dead letters in the order of their ids: ids above `after` and below `before`,
 * and at most `count` matches.
 */
export interface LetterScan {
  after: string;
  before: string;
  count: number;
}

export interface LetterScanResult {
  ids: string[];
  /**
   * `seen` is how many dead letters the scan read. `reached` is the id of the last of them, where
   * the next scan continues; undefined when no letters are left.
   */
  seen: number;
  reached: string | undefined;
}

/**
 * Dead letters of one destination with the same failure: the same stage, status, code and reason,
 * apart from numbers, ids, quoted values and times in the reason.
 */
export interface LetterGroup extends LetterOwner {
  id: string;
  stage: "transform" | "deliver";
  /**
   * The reason of the group's first letter. The reasons of other letters may have other numbers and values.
   */
  reason: string;
  count: number;
  /** Creation time of the first letter. */
  firstAt: number;
  /** Creation time of the letter added last, in milliseconds since the epoch. */
  lastAt: number;
  status?: number;
  code?: string;
}

/** A group of dead letters, with the receivers' answers that are stored for it, latest first. */
export interface LetterGroupDetails extends LetterGroup {
  responses: { at: number; response: ShownAnswer }[];
}
