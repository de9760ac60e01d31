import { jsonAnswer, jsonRequest } from "./json-bodies.ts";

const object = { type: "object" };
const list = { type: "array", items: object };

/**
 * Address of the listener for rudder-server in the OpenAPI document. It is the default address,
 * because the code that writes the document does not know the settings of the server.
 */
const servers = [{ url: "http://127.0.0.1:9090", description: "Listener for rudder-server" }];
const about =
  "On a listener of its own, with the setting transformer.port. It has no tokens; with " +
  "transformer.secret every request has this secret in Authorization. It also answers /health, " +
  "/version, /buildVersion, and the requests for stored code that the control plane answers.";

/** Returns the OpenAPI paths of the listener for rudder-server (rudder-transformer's API). */
export function transformerPaths(): Record<string, Record<string, unknown>> {
  const paths = {
    "/customTransform": { post: customTransform },
    "/transformation/test": { post: posting("/transformation/test", testExample) },
    "/transformation/testRun": { post: posting("/transformation/testRun", testRunExample) },
    "/transformationLibrary/test": { post: posting("/transformationLibrary/test", codeExample) },
    "/extractLibs": { post: posting("/extractLibs", codeExample) },
    "/transformation/sethandle": { post: sethandle },
    "/features": { get: features },
  };
  return Object.fromEntries(
    Object.entries(paths).map(([path, operations]) => [path, { servers, ...operations }]),
  );
}

const summaries: Record<string, string> = {
  "/customTransform": "Run published code over events of rudder-server",
  "/transformation/test": "Run code that is not stored over events",
  "/transformation/testRun": "Run code that is not stored, with the metadata of each event",
  "/transformationLibrary/test": "Load a library that is not stored",
  "/extractLibs": "List the modules and names that code imports",
  "/transformation/sethandle": "Prepare a test, which needs no preparation here",
  "/features": "List what the listener can do for destinations: nothing",
};

const VERSION = "2Pm4vA8rKcXbWq0nZtYsLdFgHje";
const code = "export function transformEvent(event) {\n  event.seen = true;\n  return event;\n}";
const events = [{ message: { messageId: "m-1", type: "track" }, metadata: { sourceId: "s-1" } }];
const testExample = { events, trRevCode: { code, codeVersion: "1", language: "javascript" } };
const testRunExample = { input: events, codeRevision: { code, language: "javascript" } };
const codeExample = { code: "export const double = (n) => 2 * n;", language: "javascript" };

const metadata = { workspaceId: "2Pm4vBqVwYcSo1nHkxgTdUeRjLa", messageId: "m-1", jobId: 7 };
const customTransform = {
  ...operation("post", "/customTransform"),
  description:
    `${about} Items of status 200 have an output, of 298 none (with X-Feature-Filter-Code: ?1), ` +
    "of 400 and 404 an error; all have the metadata of their event.",
  requestBody: jsonRequest(
    {
      type: "array",
      items: {
        type: "object",
        properties: {
          message: object,
          metadata: object,
          destination: object,
          libraries: list,
          credentials: list,
        },
      },
    },
    [
      {
        message: { messageId: "m-1" },
        metadata,
        destination: { Transformations: [{ VersionID: VERSION }] },
      },
    ],
  ),
  responses: {
    200: jsonAnswer("An item for each output, error and dropped event", list, [
      { output: { messageId: "m-1", seen: true }, metadata, statusCode: 200 },
    ]),
    400: { description: "The body is no JSON array of objects" },
    413: { description: "The body, or the number of its events, is too large" },
    503: { description: "Not now; X-Rudder-Should-Retry makes rudder-server send it again" },
  },
};

function operation(method: string, path: string) {
  return {
    operationId: `${method}${path.replaceAll("/", "_")}`,
    summary: summaries[path],
    tags: ["rudder-server"],
    description: about,
    security: [],
    parameters: [] as object[],
  };
}

function posting(path: string, example: object) {
  return {
    ...operation("post", path),
    requestBody: jsonRequest(object, example),
    responses: {
      200: { description: "Outputs with lines of log; or what the code imports" },
      400: jsonAnswer("The request lacks something, or the code does not load", object, {
        error: "Error: Invalid request. Missing events",
      }),
      401: { description: "The secret is missing" },
      503: { description: "User code cannot be tested at the moment" },
    },
  };
}

const sethandle = {
  ...operation("post", "/transformation/sethandle"),
  responses: {
    200: jsonAnswer("Always", object, { success: true }),
    401: { description: "The secret is missing" },
  },
};

const features = {
  ...operation("get", "/features"),
  responses: {
    200: jsonAnswer("Nothing for destinations", object, { routerTransform: {}, regulations: [] }),
    401: { description: "The secret is missing" },
  },
};
