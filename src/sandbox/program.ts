// The sandbox's data model: programs, batches of events and their outcomes.

/**
 * An error of user code, with its position in the user's own code. Lines and columns count from 1.
 */
export interface UserError {
  /**
   * Message and stack, such as `TypeError: x is not a function\n    at transformEvent (name:2:8)`.
   * It never contains a path of the host.
   */
  message: string;
  line?: number;
  column?: number;
  /**
   * importName of the library in which the error occurred; absent for the transformation itself.
   */
  library?: string;
}

export type GuestLanguage = "javascript" | "python";

export interface LibraryCode {
  importName: string;
  versionId: string;
  code: string;
}

/**
 * A transformation's code with the libraries that it imports: all code that a guest needs to run
 * it.
 */
export interface Program {
  /**
   * The versionId of the transformation and those of its libraries, joined by `+`. Programs with
   * the same id have the same code.
   */
  id: string;
  workspaceId: string;
  language: GuestLanguage;
  /** Name of the transformation, with which error traces refer to its code. */
  name: string;
  code: string;
  libraries: readonly LibraryCode[];
  /** Secrets by name, which user code reads with `getCredential`. */
  credentials: Readonly<Record<string, string>>;
}

/**
 * A batch of events as JSON texts in UTF-8, with the metadata that `metadata(event)` returns for
 * each.
 */
export interface ProgramBatch {
  events: readonly Uint8Array[];
  /** One JSON object per event, as text in UTF-8, in the order of `events`. */
  metadata: readonly Uint8Array[];
}

/**
 * Keys of the object that `metadata(event)` returns to user code. Every key is present, even if it
 * has no value.
 */
export const metadataKeys = [
  "sourceId",
  "sourceName",
  "sourceType",
  "workspaceId",
  "destinationId",
  "destinationName",
  "destinationType",
  "messageId",
  "rudderId",
  "receivedAt",
  "eventName",
  "eventType",
  "transformationId",
  "transformationVersionId",
] as const;
export type MetadataKey = (typeof metadataKeys)[number];

/**
 * A line that user code wrote with `log(...)`, such as `Log: a 1 true`, with its event and
 * position.
 */
export interface LogLine {
  text: string;
  /**
   * Index of the event in the batch; absent when it is unknown: after an `await`, or in
   * `transformBatch`.
   */
  event?: number;
  line?: number;
  /** importName of the library that called `log`; absent for the transformation itself. */
  library?: string;
}

/**
 * Outcome of one input event: its output events, or an error. Without an output, the code has
 * dropped the event.
 */
export type ProgramOutcome = { events: readonly Uint8Array[] } | { error: UserError };
