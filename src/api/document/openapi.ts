import { Type } from "@sinclair/typebox";
import { Differences } from "../../publishing/reports.ts";
import { component, text } from "../../settings/schema-types.ts";
import type { ApiDeps } from "../deps.ts";
import { FORM_TYPE } from "../request/body.ts";
import { isForPrograms, type Route } from "../route.ts";
import { schemaWithSecrets } from "../routes/resources/destination-config.ts";
import { dataPlanePaths, dataPlaneTags, transformerPaths } from "./data-plane.ts";
import { jsonAnswer } from "./json-bodies.ts";
import {
  isAnsweredWithTag,
  notModified,
  preconditionParameters,
  tagHeaders,
} from "./precondition-headers.ts";

/** Builds the OpenAPI 3.1 document from the schemas that validate requests. */
export function openApiDocument(
  routes: readonly Route[],
  { version, kinds, dataPlaneUrl }: Pick<ApiDeps, "version" | "kinds" | "dataPlaneUrl">,
) {
  const schemas: Record<string, unknown> = {};
  const refer: Refer = (value) => toReference(value, schemas);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    for (const path of [route.path, ...route.aliases]) {
      const method = route.method.toLowerCase();
      paths[path] = { ...paths[path], [method]: operation(route, path, refer) };
    }
  }
  Object.assign(paths, dataPlanePaths(dataPlaneUrl()), transformerPaths());
  refer(ErrorBody);
  const { description } = schemas.DestinationConfig as { description: string };
  schemas.DestinationConfig = { description, anyOf: configSchemas(kinds, refer) };
  return {
    openapi: "3.1.0",
    info: {
      title: "pixelmill",
      version,
      description:
        "RudderStack's Transformations API, and resources under /v2, on the control plane; pixels " +
        "and requests of SDKs on the data plane. Errors are `{message}`, under /v2 also `error`.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    security: [{ bearer: [] }, { basic: [] }],
    tags: [...new Set([...dataPlaneTags, ...routes.map(tagOf)])].map((name) => ({ name })),
    paths,
    components: {
      schemas,
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "A token: `pm_…`" },
        basic: { type: "http", scheme: "basic", description: "Any name, a token as password" },
        writeKey: { type: "http", scheme: "basic", description: "A write key as name" },
      },
    },
  };
}

export type OpenApiDocument = ReturnType<typeof openApiDocument>;

/**
 * Returns the config schemas of all kinds of destination, such as `webhook`. Secrets are marked as
 * `writeOnly`.
 */
function configSchemas(kinds: ApiDeps["kinds"], refer: Refer) {
  return [...kinds.values()].map((kind) => {
    const { properties, ...rest } = schemaWithSecrets(kind);
    return { ...rest, title: kind.kind, properties: refer(properties) };
  });
}

/** Schema of the body of every response that is not a success. */
export const ErrorBody = component("Refusal", {
  message: text("One sentence; never the input"),
  current: Type.Optional(
    Type.Unknown({
      description: "Only in a 412: the resource as GET answers it now, or the current `count`",
    }),
  ),
  base: Type.Optional(
    Type.Unknown({
      description: "Of a 412 about code alone: the revision that the tag of If-Match names",
    }),
  ),
  error: Type.Optional(text("The same, under /v2 only")),
  details: Type.Optional(
    Type.Array(
      Type.Object({
        path: text("JSON pointer into the body, or `?name` of the query"),
        message: Type.String(),
        line: Type.Optional(Type.Integer()),
        column: Type.Optional(Type.Integer()),
        testCase: Type.Optional(text("Id of the stored test case that failed")),
        differences: Type.Optional(Differences),
      }),
    ),
  ),
});

const statusDescriptions: Record<number, string> = {
  400: "The request is malformed, breaks a rule, or its code fails the publish tests",
  401: "The token is missing, unknown, expired or revoked",
  403: "The token lacks a permission, which the message names",
  404: "There is no such thing in the token's workspace",
  409: "The published state does not allow it",
  412: "If-Match does not name the resource's current state, or If-None-Match names it, or a filter finds more than `expected`",
  413: "The body is too large",
  429: "Too many requests of this token; Retry-After tells when to go on",
};

const openRouteErrors: Record<string, number[]> = {
  "GET /ready": [503],
  "GET /metrics": [403],
  "POST /v2/session": [400, 401, 403, 413, 429, 503],
  "DELETE /v2/session": [403, 503],
  "GET /v2/session/oidc": [403, 404, 429],
  "GET /v2/session/oidc/callback": [400, 403, 404, 429, 503],
  "POST /v2/session/oidc/logout": [400, 403, 404, 413, 429, 503],
};

/** Whether a route's response has a body when the request succeeds. */
const hasAnswerBody = ({ status }: Route) => status !== 204 && status !== 303;

/**
 * Returns the description of a route's 503 response, for the OpenAPI document. It says whether the
 * client can repeat the request, or whether the failed request may still take effect.
 */
function unavailable({ method, status, needs, isLong }: Route): string {
  const why = isLong ? "Not possible at the moment" : "Not possible at the moment, or not in time";
  if (method === "GET") return `${why}; repeat the request`;
  if (needs === "open") return why;
  if (method !== "POST") {
    return `${why}. The change may still take effect; the request can be repeated as it is`;
  }
  return status === 201
    ? `${why}. It may still be created; list before you repeat the request, which may create another`
    : `${why}. The request may still take effect; read the state before you repeat it`;
}

/**
 * Whether the route may answer 404 because an item does not exist. True for a route that has the
 * item's id in its path or query. Also true for `/v2/workspace`, whose item is the token's
 * workspace.
 */
function namesThing({ path, query }: Route): boolean {
  const { id, versionId } = query.properties;
  return (id ?? versionId) !== undefined || path.includes("{") || path === "/v2/workspace";
}

/** Returns the HTTP error statuses of the responses that a route may give. */
export function errorStatuses(route: Route): number[] {
  const { needs, body, method } = route;
  if (needs === "open") return openRouteErrors[route.key] ?? [];
  return [
    ...(body || route.current || Object.keys(route.query.properties).length > 0 ? [400] : []),
    ...[401, 403],
    ...(body || namesThing(route) ? [404] : []),
    ...(method === "GET" ? [] : [409]),
    ...(route.current || hasExpectation(route) ? [412] : []),
    ...(body ? [413] : []),
    ...(isForPrograms(route) ? [503] : [429, 503]),
  ];
}

function operation(route: Route, path: string, refer: Refer) {
  const { method, body, example, media = "application/json", needs, current, isForm } = route;
  const success = hasAnswerBody(route) ? content(media, refer(route.answer), example.answer) : {};
  const refusals = errorStatuses(route).map((status) => {
    const description = status === 503 ? unavailable(route) : statusDescriptions[status]!;
    const example = { message: "Transformation is not published" };
    return [status, jsonAnswer(description, errorSchema(route, status, refer), example)];
  });
  return {
    operationId: operationId(method, path),
    summary: route.summary,
    tags: [tagOf(route)],
    description: [
      ...(path === route.path ? [] : [`The same as \`${route.key}\`.`]),
      ...neededPermissions(route),
    ].join(" "),
    ...(needs === "open" && { security: [] }),
    parameters: [
      ...pathParameters(route, path),
      ...queryParameters(route, refer),
      ...preconditionParameters(route),
    ],
    ...(body && {
      requestBody: {
        required: Boolean(body.required?.length),
        ...content(isForm ? FORM_TYPE : "application/json", refer(body), example.body),
      },
    }),
    responses: {
      [route.status]: {
        description: "Success",
        ...(isAnsweredWithTag(route) && { headers: tagHeaders }),
        ...success,
      },
      ...((current || route.answersTag) && method === "GET" && { 304: notModified }),
      ...Object.fromEntries(refusals),
    },
  };
}

/** Returns sentences about the permissions that a route needs, for the OpenAPI document. */
function neededPermissions({ needs, needsOneOf = [], alsoNeeds = [] }: Route): string[] {
  const named = (permissions: readonly string[], word = "and") =>
    permissions.map((permission) => `\`${permission}\``).join(` ${word} `);
  if (needs === "open") return ["Needs no token."];
  const always = [named(needs), named(needsOneOf, "or")].filter((text) => text !== "");
  return [
    `Needs ${always.length === 0 ? "any token of the workspace" : always.join(", and ")}.`,
    ...alsoNeeds.map(({ when, permissions }) => `Needs ${named(permissions)} when ${when}.`),
  ];
}

function errorSchema({ refusal }: Route, status: number, refer: Refer) {
  const error = { $ref: "#/components/schemas/Refusal" };
  return refusal !== undefined && status === 400 ? { anyOf: [error, refer(refusal)] } : error;
}

function content(media: string, schema: unknown, example: unknown) {
  return { content: { [media]: { schema, example } } };
}

function pathParameters(route: Route, path: string) {
  const examples: Record<string, string> = route.example.params ?? {};
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
    example: examples[name],
  }));
}

function queryParameters(route: Route, refer: Refer) {
  return Object.entries(route.query.properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: route.query.required?.includes(name) ?? false,
    ...(schema.description && { description: schema.description }),
    schema: refer(schema),
  }));
}

/** Function that, like `toReference`, replaces each named schema in a value by a reference. */
type Refer = (value: unknown) => unknown;

/**
 * Returns a copy of a value in which a reference replaces each schema that has a name (`$id`),
 * nested ones included. Adds the named schemas to `schemas`.
 */
function toReference(value: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => toReference(item, schemas));
  if (typeof value !== "object" || value === null) return value;
  const { $id, ...rest } = value as { $id?: string };
  const entries = Object.entries(rest).map(([key, item]) => [key, toReference(item, schemas)]);
  if ($id === undefined) return Object.fromEntries(entries);
  schemas[$id] = Object.fromEntries(entries);
  return { $ref: `#/components/schemas/${$id}` };
}

function operationId(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter(Boolean);
  return [method.toLowerCase(), ...words].join("_");
}

/**
 * Returns the tag of a route's operation in the OpenAPI document. It names the resource of the
 * path: `sources` for `/v2/sources/{id}`.
 */
function tagOf({ path }: Route): string {
  const [first = "", second = ""] = path.split("/").filter(Boolean);
  if (["health", "ready", "metrics", "docs"].includes(first)) return "server";
  return first === "v2" ? second : first;
}

/**
 * Whether the route's body has the field `expected`: the number of items that the client expects
 * the request to change. The route then may answer 412.
 */
function hasExpectation({ body }: Route): boolean {
  return body?.properties !== undefined && "expected" in body.properties;
}
