/** The sandbox's data model: programs, batches of events and their outcomes. */

/** An error of user code, in the user's own coordinates (1-based line and column). */
export interface UserError {
  /** `TypeError: x is not a function\n    at transformEvent (name:2:8)`; never a host path. */
  message: string;
  line?: number;
  column?: number;
  /** importName of the library the error is in; absent for the transformation itself. */
  library?: string;
}

export type GuestLanguage = "javascript" | "python";

export interface LibraryCode {
  importName: string;
  versionId: string;
  code: string;
}

/** A transformation's code with the libraries that it imports: everything that a guest needs to run it. */
export interface Program {
  /**
   * Two programs with the same id have the same code throughout: `transformation versionId +
   * library versionIds`.
   */
  id: string;
  workspaceId: string;
  language: GuestLanguage;
  /** Label of the user's own file in error traces (the transformation's name). */
  name: string;
  code: string;
  libraries: readonly LibraryCode[];
  /** Named secrets that `getCredential` may read. */
  credentials: Readonly<Record<string, string>>;
}

/** Events as JSON text in UTF-8, each with the metadata that `metadata(event)` returns. */
export interface ProgramBatch {
  events: readonly Uint8Array[];
  /** One JSON object text per event. */
  metadata: readonly Uint8Array[];
}

/** Keys of the object that `metadata(event)` returns to user code; all are set, also without a value. */
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

/** A line of `log(...)` (`Log: a 1 true`) with its event and its position in the user's code. */
export interface LogLine {
  text: string;
  /** Index of the event; absent when it is unknown (after an `await`, in `transformBatch`). */
  event?: number;
  line?: number;
  /** importName of the library that logged; absent for the transformation itself. */
  library?: string;
}

/** Outcome of one input event: its outputs (none when the code dropped it), or an error. */
export type ProgramOutcome = { events: readonly Uint8Array[] } | { error: UserError };
