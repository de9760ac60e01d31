/** An event that was not delivered, kept until somebody replays or purges it. */
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

/** A dead letter with what a replay needs. Events are kept as the JSON texts they were. */
export interface StoredLetter extends Omit<DeadLetter, "event"> {
  /** The event as it entered the stage that failed. */
  text: string;
  /** The event as it first came, when that is another text. */
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

/** Whose letters are meant. */
export interface LetterOwner {
  workspaceId: string;
  destinationId: string;
}

/** Which letters are meant: those of a destination, or of a group of it, for all that is said. */
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

/** Which part of what a filter finds: ids after the one and below the other, at most so many. */
export interface LetterScan {
  after: string;
  before: string;
  count: number;
}

export interface LetterScanResult {
  ids: string[];
  /** Letters that were looked at, and the last of them; absent when there are no more. */
  seen: number;
  reached: string | undefined;
}

/** Dead letters of one destination that were given up for the same reason. */
export interface LetterGroup extends LetterOwner {
  id: string;
  stage: "transform" | "deliver";
  /** As the first of them says it; numbers and ids in it may differ in the others. */
  reason: string;
  count: number;
  /** When the latest of them came, in milliseconds since the epoch. */
  lastAt: number;
}
