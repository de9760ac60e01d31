import type { Static, TObject, TProperties, TSchema, TUndefined } from "@sinclair/typebox";
import { Type } from "@sinclair/typebox";
import type { Permission, Principal } from "../catalog/model.ts";
import type { RouteDeps } from "./deps.ts";

/** The media type of a stream that lasts until one side ends it. */
export const EVENT_STREAM = "text/event-stream";

export type Method = "GET" | "POST" | "PUT" | "DELETE";
/**
 * The name of a route in the specification, the client and the tests: `"POST
 * /transformations/{id}"`.
 */
export type RouteKey = `${Method} /${string}`;

type PathParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParamNames<Rest>
  : never;
export type PathParams<Path extends string> = { [Name in PathParamNames<Path>]: string };

/** A request after authentication and validation, as a handler gets it. */
export interface RequestContext<Key extends string, Query, Body> {
  deps: RouteDeps;
  principal: Principal;
  workspaceId: string;
  params: PathParams<Key>;
  query: Query;
  body: Body;
  request: Request;
  /** The client's address, or the network of a client that has many addresses. */
  client(): string;
  /** Aborts when the listener stops; streams end then. */
  closing: AbortSignal;
}

/**
 * Permissions that a request needs in addition when `holds` is true for it; `when` is the condition
 * in the words of the OpenAPI document.
 */
export interface ConditionalPermission<Input> {
  when: string;
  permissions: readonly Permission[];
  holds(input: Input): boolean;
}

interface RouteOptions<
  Key extends RouteKey,
  Query extends TProperties,
  Body extends TSchema,
  Answer extends TSchema,
> {
  summary: string;
  /** Other paths of the same route. */
  aliases?: readonly `/${string}`[];
  /** `open`: the route needs no token. Otherwise a valid token with all of these permissions. */
  needs: "open" | readonly Permission[];
  query?: Query;
  /** An absent body counts as `{}`. */
  body?: Body;
  answer: Answer;
  /** Status of a success; 204 has no body. */
  status?: 200 | 201 | 204;
  /** Media type of a success that is not JSON. */
  media?: string;
  /** The schema of a 400 that says more than a message. */
  refusal?: TSchema;
  example: { params?: PathParams<Key>; body?: Static<Body>; answer: Static<Answer> };
  /** Permissions that depend on the query and the body. */
  alsoNeeds?: readonly ConditionalPermission<{
    query: Static<TObject<Query>>;
    body: Static<Body>;
  }>[];
  handle(
    call: RequestContext<Key, Static<TObject<Query>>, Static<Body>>,
  ): Static<Answer> | Response | Promise<Static<Answer> | Response>;
}

/**
 * One row of the route table, the source of validation, documentation, permissions, types and tests.
 * Elysia only routes and listens: its schemas would read a body before the token is known, and its
 * errors have another form.
 */
export interface Route<
  Key extends RouteKey = RouteKey,
  Query extends TProperties = TProperties,
  Body extends TSchema = TSchema,
  Answer extends TSchema = TSchema,
> extends Omit<RouteOptions<Key, Query, Body, Answer>, "query" | "status" | "aliases"> {
  key: Key;
  method: Method;
  path: string;
  aliases: readonly string[];
  query: TObject<Query>;
  status: 200 | 201 | 204;
}

export function route<
  const Key extends RouteKey,
  Answer extends TSchema,
  // biome-ignore lint/complexity/noBannedTypes: the empty set of properties, not any object
  Query extends TProperties = {},
  Body extends TSchema = TUndefined,
>(key: Key, options: RouteOptions<Key, Query, Body, Answer>): Route<Key, Query, Body, Answer> {
  const [method, path] = key.split(" ") as [Method, string];
  return {
    ...options,
    key,
    method,
    path,
    aliases: options.aliases ?? [],
    query: Type.Object(options.query ?? ({} as Query)),
    status: options.status ?? 200,
  };
}
