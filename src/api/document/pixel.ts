import { errorResponses } from "./json-bodies.ts";

/** Returns the paths of the Pixel API, for the OpenAPI document. */
export function pixelPaths(): Record<string, Record<string, unknown>> {
  const path = (kind: "page" | "track", summary: string) => ({
    get: operation(kind, "get", summary),
    post: operation(kind, "post", `${summary}, as navigator.sendBeacon does`),
  });
  return {
    "/pixel/v1/page": path("page", "Record a page view"),
    "/pixel/v1/track": path("track", "Record an event"),
  };
}

interface Parameter {
  name: string;
  description: string;
  example?: string;
  required?: boolean;
}

const common: Parameter[] = [
  { name: "writeKey", description: "Of the source: a credential", required: true },
  { name: "anonymousId", description: "This or userId is required", example: "anon-1" },
  { name: "userId", description: "This or anonymousId is required" },
  { name: "name", description: "Name of the page", example: "Home" },
  { name: "context.library.name", description: "Library or SDK" },
  { name: "context.library.version", description: "Its version" },
  { name: "context.platform", description: "Such as a page framework" },
  { name: "context.locale", description: "Of the user, such as en-US" },
  { name: "context.userAgent", description: "Of the user's browser" },
  { name: "context.screen.width", description: "In pixels; becomes a number" },
  { name: "context.screen.height", description: "In pixels; becomes a number" },
  { name: "context.page.path", description: "Of the page" },
  { name: "context.page.url", description: "Of the page" },
  { name: "context.page.referrer", description: "Of the page" },
  { name: "context.page.title", description: "Of the page" },
  {
    name: "properties.plan",
    description: "Any properties.NAME: dots nest, and what looks like a number becomes one",
    example: "pro",
  },
];
const event: Parameter = {
  name: "event",
  description: "Name of the event",
  example: "Signed Up",
  required: true,
};

function operation(kind: "page" | "track", method: "get" | "post", summary: string) {
  const parameters = kind === "track" ? [event, ...common] : common;
  return {
    operationId: `${method}_pixel_v1_${kind}`,
    summary,
    tags: ["pixel"],
    description:
      "Needs no token: the write key names the source. 200 means that the event is on disk. " +
      "The path with its query may have 32,768 bytes; browsers ask for one address only once a " +
      "page, so give each its own, as by a parameter with the time.",
    security: [],
    parameters: parameters.map(({ required = false, ...parameter }) => {
      return { ...parameter, in: "query", required, schema: { type: "string" } };
    }),
    responses: {
      200: {
        description: "The event is durable",
        content: {
          "image/gif": { schema: { type: "string", format: "binary" }, example: "GIF89a…" },
        },
      },
      ...errorResponses(statusDescriptions),
    },
  };
}

const statusDescriptions: Record<number, string> = {
  400: "A required parameter is missing or blank, or there are too many",
  401: "The write key is unknown",
  403: "The source does not allow the page's origin",
  404: "The source is disabled",
  414: "The path with its query is too long",
  429: "Too many pixels of this write key; Retry-After tells when to go on",
  503: "The event could not be made durable",
};
