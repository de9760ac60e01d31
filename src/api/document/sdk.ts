import { errorResponses, jsonAnswer, jsonRequest } from "./json-bodies.ts";

/** Returns the OpenAPI paths to which SDKs send events and from which SDKs read their settings. */
export function sdkPaths(): Record<string, Record<string, unknown>> {
  return {
    ...Object.fromEntries(
      Object.entries(singles).map(([type, [summary, members]]) => [
        `/v1/${type}`,
        { post: sending(`/v1/${type}`, summary, eventExample(members)) },
      ]),
    ),
    "/v1/batch": { post: sending("/v1/batch", "Record several events of any type", batchExample) },
    "/beacon/v1/batch": {
      post: {
        ...sending(
          "/beacon/v1/batch",
          "Record several events of a page that is left",
          batchExample,
        ),
        parameters: [writeKeyParameter],
      },
    },
    "/sourceConfig": {
      get: {
        operationId: "get_sourceConfig",
        summary: "Settings with which RudderStack's SDKs start",
        ...reading,
        parameters: [writeKeyParameter],
        responses: {
          200: jsonAnswer("The source is enabled", { type: "object" }, configExample),
          ...errorResponses({
            400: "The write key is unknown",
            401: "There is no write key",
            404: "The source is disabled",
          }),
        },
      },
    },
    "/v1/projects/{writeKey}/settings": {
      get: {
        operationId: "get_v1_projects_writeKey_settings",
        summary: "Settings with which Segment's SDKs start",
        ...reading,
        parameters: [{ ...writeKeyParameter, in: "path", required: true, example: WRITE_KEY }],
        responses: {
          200: jsonAnswer("The source is enabled", { type: "object" }, settingsExample),
          ...errorResponses({ 404: "The write key is unknown, or the source is disabled" }),
        },
      },
    },
  };
}

const WRITE_KEY = "2Pm4vBqVwYcSo1nHkxgTdUeRjLa";
const writeKeyParameter = {
  name: "writeKey",
  in: "query",
  required: false,
  description: "Of the source",
  schema: { type: "string" },
};

const text = (description: string) => ({ type: "string", description });
const object = (description: string) => ({ type: "object", description });
const id = (description: string) => ({ type: ["string", "number", "boolean"], description });

/** Schemas of the fields that events of all types have. */
const eventMembers = {
  type: text("Overwritten by the path; required in a batch"),
  messageId: text("A new one when it is missing"),
  anonymousId: id("This or userId is required"),
  userId: id("This or anonymousId is required"),
  event: text("Name of a track event"),
  name: text("Name of a page or screen"),
  groupId: id("Of a group event"),
  previousId: id("Of an alias event"),
  properties: object("Of a track, page or screen event"),
  traits: object("Of an identify or group event"),
  context: object("What surrounds the event, such as library, page and device"),
  integrations: object("Destinations by name or type, such as `All: false`; all by default"),
  originalTimestamp: text("When it happened, by the client's clock"),
  timestamp: text("When it happened; by default originalTimestamp without the clock's fault"),
  sentAt: text("When it was sent, by the client's clock"),
  writeKey: text("Of the source, for SDKs that send no header; not delivered"),
};
const eventSchema = { type: "object", properties: eventMembers };
const batchSchema = {
  type: "object",
  required: ["batch"],
  properties: {
    batch: { type: "array", items: eventSchema },
    context: object("For events that have none"),
    integrations: object("For events that have none"),
    sentAt: text("For events that have none"),
    writeKey: text("Of the source, for SDKs that send no header"),
  },
};

const eventExample = (members: object) => ({
  writeKey: WRITE_KEY,
  anonymousId: "anon-1",
  ...members,
});
const batchExample = {
  writeKey: WRITE_KEY,
  batch: [
    { type: "identify", userId: "user-7", traits: { plan: "pro" } },
    { type: "track", userId: "user-7", event: "Signed Up" },
  ],
  sentAt: "2026-01-31T12:00:00.000Z",
};

const singles: Record<string, [summary: string, members: object]> = {
  track: ["Record an event", { event: "Signed Up", properties: { plan: "pro" } }],
  page: ["Record a page view", { name: "Home" }],
  identify: ["Record who a user is", { userId: "user-7", traits: { plan: "pro" } }],
  screen: ["Record a view of an app's screen", { name: "Cart" }],
  group: ["Record the group of a user", { groupId: "company-3", traits: { name: "Initech" } }],
  alias: ["Record another id of a user", { userId: "user-7", previousId: "anon-1" }],
};

const description =
  "The write key of the source is the name in the header `Authorization: Basic`, with any " +
  "password, or `writeKey` in the body. The type of the body does not matter; it may be sent with " +
  "`Content-Encoding: gzip`. 200 means that the events are on disk. An event that breaks a rule is " +
  "refused alone: `GET /v2/events/search?refused=true` finds it with the reason. ";

/**
 * Last sentence of the description of some operations in the OpenAPI document, by the operation's
 * path. Descriptions of the other operations end with a sentence that names the short path, such as
 * `/v1/t` for `/v1/track`.
 */
const lastSentences: Record<string, string> = {
  "/v1/batch": "The paths /v1/b and /v1/import do the same.",
  "/beacon/v1/batch": "The write key may be in the query.",
};

function sending(path: string, summary: string, example: object) {
  const schema = "batch" in example ? batchSchema : eventSchema;
  const [, first = ""] = /^\/v1\/(\w)/.exec(path) ?? [];
  return {
    operationId: `post_${path.slice(1).replaceAll("/", "_")}`,
    summary,
    tags: ["sdk"],
    description: description + (lastSentences[path] ?? `The path /v1/${first} does the same.`),
    security: [{ writeKey: [] }],
    parameters: [],
    requestBody: jsonRequest(schema, example),
    responses: {
      200: jsonAnswer(
        "The events are durable",
        { type: "object", properties: { success: { type: "boolean" } } },
        { success: true },
      ),
      ...errorResponses(sendingErrors),
    },
  };
}

const sendingErrors: Record<number, string> = {
  400: "The body is no JSON, no gzip data, or has no batch",
  401: "The write key is missing or unknown",
  403: "The source does not allow the page's origin",
  413: "The body, or the number of its events, is too large",
  415: "The body is compressed, and not with gzip",
  429: "Too many events of this write key; Retry-After tells when to go on",
  503: "The events could not be made durable, or the source is disabled; Retry-After tells when to go on",
};

const reading = {
  tags: ["sdk"],
  description: "SDKs ask for it before they send events. No answer lists destinations.",
  security: [{ writeKey: [] }, {}],
};
const configExample = {
  source: {
    id: "2Pm4vA8rKcXbWq0nZtYsLdFgHje",
    name: "Shop",
    writeKey: WRITE_KEY,
    enabled: true,
    config: { statsCollection: { errors: { enabled: false }, metrics: { enabled: false } } },
    destinations: [],
  },
};
const settingsExample = {
  integrations: {
    "Segment.io": { apiKey: WRITE_KEY, apiHost: "data.example.com/v1", protocol: "https" },
  },
  plan: {},
  metrics: { sampleRate: 0 },
};
