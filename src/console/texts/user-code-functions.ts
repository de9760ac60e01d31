/** A function that user code exports, or one that it may call without an import. */
export interface UserCodeFunction {
  name: string;
  /** Signature of the function in each language. A language that lacks the function is absent. */
  signatures: Partial<Record<"javascript" | "python", string>>;
  /** Meaning of the function, in Markdown without links. */
  meaning: string;
}

/** Functions to which the sandbox passes events. A transformation exports exactly one of them. */
export const entryFunctions: readonly UserCodeFunction[] = [
  {
    name: "transformEvent",
    signatures: {
      javascript: "transformEvent(event, metadata)",
      python: "transformEvent(event, metadata)",
    },
    meaning:
      "Called for each event, sync or async. Returns an object, which replaces the event, a list of objects, which each become an event, or nothing, which drops the event.",
  },
  {
    name: "transformBatch",
    signatures: {
      javascript: "transformBatch(events, metadata)",
      python: "transformBatch(events, metadata)",
    },
    meaning:
      "Called for each batch of events. Returns the list of the events that go on. A batch that fails runs again for each event by itself.",
  },
];

/** The function `metadata`, which an entry function gets as its second parameter. */
export const metadataFunction: UserCodeFunction = {
  name: "metadata",
  signatures: { javascript: "metadata(event)", python: "metadata(event)" },
  meaning:
    "The second parameter of the transformation's function. Returns what is known about the event, such as `sourceName` and `destinationName`.",
};

/** The functions that user code may call without an import. */
export const providedFunctions: readonly UserCodeFunction[] = [
  {
    name: "log",
    signatures: { javascript: "log(...values)", python: "log(*values)" },
    meaning:
      "Writes one line, with objects as JSON: into the result of a test run, and from live code into the logs of the transformation.",
  },
  {
    name: "getCredential",
    signatures: { javascript: "getCredential(name)", python: "getCredential(name)" },
    meaning:
      "Returns the secret text that the workspace has under this name, or `undefined` (Python: `None`). In Python it is known to transformations, and not to libraries.",
  },
  {
    name: "fetch",
    signatures: { javascript: "await fetch(url, options)" },
    meaning:
      'Resolves with the parsed JSON of the answer, or with `"ERROR"`. It never rejects. Options are `method`, `headers`, `body` and `timeout` in milliseconds.',
  },
  {
    name: "fetchV2",
    signatures: { javascript: "await fetchV2(url, options)" },
    meaning:
      "Resolves with `{url, status, headers, body}`, the body parsed if it is JSON. It rejects when there is no answer, and follows no redirects. Options are those of `fetch`.",
  },
  {
    name: "geolocation",
    signatures: { javascript: "await geolocation(ip)", python: "geolocation(ip)" },
    meaning:
      "Returns the record that the server's geolocation database (`geolocation.database`) has of an IP address, or an empty object. In Python it is known to transformations, and not to libraries.",
  },
];

/** Keys of the object that `metadata(event)` returns. */
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
