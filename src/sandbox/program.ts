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
   * Name with which code imports the library in which the error occurred; absent when it occurred
   * in the transformation itself.
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
 * A transformation's code with the libraries that it imports: all code that a guest process needs
 * to run it.
 */
export interface Program {
  /**
   * The version ids of the transformation and of its libraries, joined by `+`. Programs with the
   * same id have the same code.
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
 * A batch of events as JSON texts in UTF-8, with the metadata of each event, which user code reads
 * with `metadata(event)`.
 */
export interface ProgramBatch {
  events: readonly Uint8Array[];
  /** Metadata of each event, in the order of `events`. */
  metadata: readonly EventMetadata[];
  /**
   * Time (`performance.now()`) from which the other events fail without a run once
   * `GUEST_CULPRITS_MAX` events have used up their time or ended their guest process. Absent: all
   * events run, however long it takes.
   */
  costlyUntil?: number;
  /**
   * Whether the caller still waits for the outcomes. Once this returns false, it stays false, and
   * events that no guest process works on fail without a run. Absent: the caller waits.
   */
  isAwaited?: () => boolean;
}

/**
 * Metadata of one event in two parts, so that what the events of a batch have in common is sent to
 * the guest process once.
 */
export interface EventMetadata {
  /** A JSON object. Events with an equal text, or with the same bytes object, share it. */
  shared: string | Uint8Array;
  /**
   * JSON values of `ownMetadataKeys`, separated by commas. They replace the values in `shared`.
   * Empty when `shared` has all metadata of the event.
   */
  own: string;
}

/** Returns the metadata of an event that shares it with no other event. */
export function unsharedMetadata(metadata: object): EventMetadata {
  return { shared: JSON.stringify(metadata), own: "" };
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
 * Further keys of that object, which have values only for events that rudder-server sends: those of
 * RudderStack's metadata that pixelmill's own events do not have.
 */
export const relayedMetadataKeys = [
  "sourceCategory",
  "namespace",
  "originalSourceId",
  "trackingPlanId",
  "trackingPlanVersion",
  "sourceTpConfig",
  "mergedTpConfig",
  "jobId",
  "sourceJobId",
  "sourceJobRunId",
  "sourceTaskRunId",
  "recordId",
  "messageIds",
  "sourceDefinitionId",
  "destinationDefinitionId",
] as const;

/** Metadata that differs between almost all events of a batch. */
export const ownMetadataKeys = ["messageId", "rudderId", "receivedAt"] as const;

/**
 * A line that user code wrote with `log(...)`, such as `Log: a 1 true`, with the event for which it
 * was written and the position of the call in the code.
 */
export interface LogLine {
  text: string;
  /**
   * Index of the event in the batch; absent when it is unknown: after an `await`, or in
   * `transformBatch`.
   */
  event?: number;
  line?: number;
  /**
   * Name with which code imports the library that called `log`; absent for the transformation
   * itself.
   */
  library?: string;
}

/** Receives the lines that user code writes with `log(...)` while a batch runs. */
export interface LogSink {
  /**
   * Maximum number of lines. With 0, user code sends none: `log(...)` then costs nothing but its
   * call.
   */
  lines: number;
  /** Maximum size of all lines, in UTF-16 units of JSON. */
  chars: number;
  /** Called once, after the batch has run, if there are lines. */
  take(lines: LogLine[]): void;
}

/**
 * Outcome of one input event: its output events, or an error. An empty list means that the code has
 * dropped the event.
 */
export type ProgramOutcome = { events: readonly Uint8Array[] } | { error: UserError };
