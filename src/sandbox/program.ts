// The sandbox's data model: programs, batches of events and their outcomes.

/**
 * An error of user code, with its position in the user's own code. Lines and columns count from 1.
 */
export interface UserError {
  /**
   * Message and stack, such as `TypeError: x is not a function\n    at transformEvent (name:2:8)`.
   * It never contains a file path of the server.
   */
  message: string;
  line?: number;
  column?: number;
  /**
   * Import name of the library in which the error occurred; absent when the error occurred in the
   * transformation itself.
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
   * Id of the program: the version ids of the transformation and of its libraries, joined by `+`.
   * For published code, a last part identifies the credentials. Programs with the same id have the
   * same code.
   */
  id: string;
  workspaceId: string;
  language: GuestLanguage;
  /** Name of the transformation. Error traces show its code under this name. */
  name: string;
  code: string;
  libraries: readonly LibraryCode[];
  /** Secrets by name, which user code reads with `getCredential`. */
  credentials: Readonly<Record<string, string>>;
}

/** The workspace that a guest process serves, and the language of the code that it runs. */
export type GuestOwner = Pick<Program, "workspaceId" | "language">;

/**
 * Batch of events, each as UTF-8 bytes of JSON, with the metadata of each event. User code reads
 * the metadata with `metadata(event)`.
 */
export interface ProgramBatch {
  events: readonly Uint8Array[];
  /** Metadata of each event, in the order of `events`. */
  metadata: readonly EventMetadata[];
  /**
   * Time (`performance.now()`) after which the batch stops early, once `GUEST_CULPRITS_MAX` of its
   * events have used up their time or ended their guest process. The remaining events then fail
   * without a run. If absent, all events run.
   */
  costlyUntil?: number;
  /**
   * Whether the caller still waits for the outcomes; must not become true again. Once false, events
   * not yet sent to a guest process fail without a run. If absent, the caller waits to the end.
   */
  isAwaited?: () => boolean;
}

/**
 * Metadata of one event in two parts. The part that the events of a batch have in common is sent to
 * the guest process only once.
 */
export interface EventMetadata {
  /**
   * JSON object with the values that are the same in several events of a batch. Events have the
   * same shared part if their strings are equal, or if they refer to the same `Uint8Array` object.
   */
  shared: string | Uint8Array;
  /**
   * JSON values of the metadata keys `ownMetadataKeys`, in the order of these keys and separated by
   * commas. They replace the values in `shared`. Empty if `shared` has all metadata of the event.
   */
  own: string;
}

/**
 * Converts the metadata of an event to `EventMetadata`, for an event that shares no metadata with
 * other events.
 */
export function unsharedMetadata(metadata: object): EventMetadata {
  return { shared: JSON.stringify(metadata), own: "" };
}

/**
 * Keys of the object that `metadata(event)` returns to user code. The object has all of these keys,
 * even if the event has no value for some of them.
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
 * Further keys of the object that `metadata(event)` returns. They belong to RudderStack's metadata.
 * Only events that rudder-server sends have values for them; pixelmill's own events have none.
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

/** Metadata keys whose values are different for almost every event of a batch. */
export const ownMetadataKeys = ["messageId", "rudderId", "receivedAt"] as const;

/**
 * A line that user code wrote with `log(...)`, such as `Log: a 1 true`, with the event for which it
 * was written and the position of the call in the code.
 */
export interface LogLine {
  text: string;
  /**
   * Index, in the batch, of the event that was being transformed when the line was written. Absent
   * when this event is not known: after an `await`, and in `transformBatch`.
   */
  event?: number;
  line?: number;
  /**
   * Import name of the library that called `log`; absent when the transformation itself called it.
   */
  library?: string;
}

/** Receives the lines that user code writes with `log(...)` while a batch runs. */
export interface LogSink {
  /**
   * Maximum number of `log(...)` lines of user code that are kept per batch. Further lines are
   * dropped. With 0, the guest process sends no lines, and `log(...)` takes almost no time.
   */
  lines: number;
  /** Maximum total size of the lines of a batch, in UTF-16 units of JSON. */
  chars: number;
  /** Receives the lines that user code logged. Called once after the batch, if there are any. */
  take(lines: LogLine[]): void;
}

/**
 * Outcome of one input event: its output events, or an error. An empty list of output events means
 * that the code has dropped the event.
 */
export type ProgramOutcome = { events: readonly Uint8Array[] } | { error: UserError };
