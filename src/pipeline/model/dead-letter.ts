/** An event that was not delivered, kept until it is replayed or purged. */
export interface DeadLetter {
  id: string;
  workspaceId: string;
  sourceId: string;
  destinationId: string;
  transformationVersionId?: string;
  messageId: string;
  /** `transform`: user code failed. `deliver`: the destination did not take the event. */
  stage: "transform" | "deliver";
  reason: string;
  line?: number;
  column?: number;
  attempts: number;
  /** The event as it entered the stage that failed. */
  event: unknown;
  receivedAt: number;
  createdAt: number;
}

/** A dead letter with the data that a replay needs. Events are stored as their JSON text. */
export interface StoredLetter extends Omit<DeadLetter, "event"> {
  /** The event as it entered the stage that failed. */
  text: string;
  /** The event as it was received, when its text differs. */
  original?: string;
  /** The program that made `text` out of `original`. */
  programId?: string;
  user: string;
  type: string;
  name?: string;
}

/** A dead letter that is to be sent again. */
export interface RequeuedLetter {
  letter: StoredLetter;
  replayedAt: number;
}

/** Owner of dead letters. */
export interface LetterOwner {
  workspaceId: string;
  destinationId: string;
}

/** Filter of dead letters: all fields that are set have to match. */
export interface LetterFilter {
  destinationId?: string;
  groupId?: string;
  /** A part of the reason, in any case. */
  reason?: string;
  /** The revision of the code that ran over the event. */
  transformationVersionId?: string;
  /** Given up from this time on, and before `to`, in milliseconds since the epoch. */
  from?: number;
  to?: number;
}

/** Range of a scan: ids after `after` and before `before`, at most `count`. */
export interface LetterScan {
  after: string;
  before: string;
  count: number;
}

export interface LetterScanResult {
  ids: string[];
  /** Letters that were scanned, and the last of them; undefined when there are no more. */
  seen: number;
  reached: string | undefined;
}

/** Dead letters of one destination that were given up for the same reason. */
export interface LetterGroup extends LetterOwner {
  id: string;
  stage: "transform" | "deliver";
  /** The reason of the first letter; numbers and ids in it may differ in the others. */
  reason: string;
  count: number;
  /** Creation time of the latest letter, in milliseconds since the epoch. */
  lastAt: number;
}
