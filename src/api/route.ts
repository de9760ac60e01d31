import type { Static, TObject, TProperties, TSchema, TUndefined } from "@sinclair/typebox";
import { Type } from "@sinclair/typebox";
import type { Permission, Principal } from "../catalog/model.ts";
import type { RouteDeps } from "./deps.ts";
import type { CurrentResource, Tagged } from "./entity-tag.ts";

/**
 * Media type of server-sent events. Such a response lasts until the client or the server ends it.
 */
export const EVENT_STREAM = "text/event-stream";

/**
 * Options of a route that only reads events. It needs only the permission `events:read`, and does
 * not wait until this node has read the ledgers (stored delivery progress of partitions).
 */
export const readsEvents = { needs: ["events:read"], readsNoLedgers: true } as const;

export type Method = "GET" | "POST" | "PUT" | "DELETE";
/**
 * Method and path of a route, such as `"POST /transformations/{id}"`. The OpenAPI document, the API
 * client and the tests name routes by this key.
 */
export type RouteKey = `${Method} /${string}`;

type SuccessStatus = 200 | 201 | 204 | 303;

type PathParamNames<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | PathParamNames<Rest>
  : never;
export type PathParams<Path extends string> = { [Name in PathParamNames<Path>]: string };

/** Argument of a route's handler: an authenticated and validated request. */
export interface RequestContext<Key extends string, Query, Body> {
  deps: RouteDeps;
  principal: Principal;
  workspaceId: string;
  params: PathParams<Key>;
  query: Query;
  body: Body;
  request: Request;
  /**
   * Returns the client's IP address. An IPv6 address is shortened to its network, because one
   * client may use many addresses of a network.
   */
  client(): string;
  /** Aborts when the listener stops. Streamed responses must end then. */
  closing: AbortSignal;
}

/**
 * Permissions that the token needs in addition to the route's `needs` if `holds` returns true.
 * `holds` is first called with an empty body: if it returns true then, it must do so for every
 * body. `when` describes the condition in words.
 */
export interface ConditionalPermission<Input> {
  when: string;
  permissions: readonly Permission[];
  holds(input: Input): boolean;
}

/**
 * Part of a request that is passed to a route's function `current`, which finds the resources that
 * the request names.
 */
export type ResourceCall<Key extends string, Body> = Pick<
  RequestContext<Key, unknown, Body>,
  "deps" | "workspaceId" | "params" | "body"
>;

type HandlerResult<Answer> = Answer | Tagged<Answer> | Response;

interface RouteOptions<
  Key extends RouteKey,
  Query extends TProperties,
  Body extends TSchema,
  Answer extends TSchema,
> {
  summary: string;
  /** Other paths that lead to the same handler. */
  aliases?: readonly `/${string}`[];
  /** `open` if the route needs no token, otherwise the permissions that the token must have. */
  needs: "open" | readonly Permission[];
  /** Permissions of which the token must have one, in addition to `needs`. */
  needsOneOf?: readonly Permission[];
  /**
   * Name of a field of `ApiDeps`. If this field is true, the route also accepts requests without an
   * Authorization header.
   */
  opensWith?: "opensCode";
  /**
   * Whether the route answers without waiting for the ledgers (stored delivery progress of
   * partitions). Otherwise, a route with an `events:` permission in `needs` waits until this node
   * has read all changes of the ledgers.
   */
  readsNoLedgers?: boolean;
  /**
   * Whether the handler makes one change of the catalog, and reads the catalog only in this
   * change's transaction or later. The handler then runs without first fetching newer changes,
   * because the transaction sees them.
   */
  readsInChange?: boolean;
  query?: Query;
  /** Schema of the body. A request without a body counts as `{}`. */
  body?: Body;
  /** Whether the body is a form (`application/x-www-form-urlencoded`) and not JSON. */
  isForm?: boolean;
  /**
   * Whether the body contains code or events. If true, its maximum size is `BODY_BYTES_MAX`, and
   * large integers in it are accepted (see `parseToShow`). Other bodies have a smaller maximum
   * size, and large integers in them are refused.
   */
  hasLargeBody?: boolean;
  /**
   * Whether the answer waits for user code or for another server, such as a destination's. User
   * code and requests to other servers have time limits of their own, so `API_ANSWER_MS_MAX` does
   * not apply.
   */
  isLong?: boolean;
  /**
   * Returns the current states of the resources that the path or the body names; an empty list if
   * none exists. Must throw `missing` whenever the handler would. Only routes with this function
   * obey If-Match and If-None-Match. Their handlers return a resource as `Tagged`.
   */
  current?(call: ResourceCall<NoInfer<Key>, Static<NoInfer<Body>>>): readonly CurrentResource[];
  /**
   * Whether the handler returns a complete `Response` with the header ETag, instead of `Tagged`.
   * The response has the status 304 if the client already has the current state.
   */
  answersTag?: boolean;
  /** Whether the route creates one resource. The handler then returns it as `Tagged`. */
  creates?: boolean;
  answer: Answer;
  /** HTTP status of a successful answer. An answer with 204 or 303 (a redirect) has no body. */
  status?: SuccessStatus;
  /** Media type of a successful answer, if it is not JSON. */
  media?: string;
  /** Schema of the body of a 400 response, if it has more fields than other error bodies. */
  refusal?: TSchema;
  /** Example for the OpenAPI document and tests. Has a `query` if the route fails without one. */
  example: {
    params?: PathParams<Key>;
    query?: string;
    body?: Static<Body>;
    answer: Static<Answer>;
  };
  /**
   * Audit entries of a request that is not a GET.
   * - `catalog` (default): one entry for each catalog row that the request changes
   * - `none`: no entry, because the request changes nothing
   * - another value: one entry about the action with this name, stored before the handler runs
   */
  audit?: "catalog" | "none" | `${"replay" | "dead-letter"}.${string}`;
  /** Further permissions that depend on the request's query and body. */
  alsoNeeds?: readonly ConditionalPermission<{
    query: Static<TObject<Query>>;
    body: Static<Body>;
  }>[];
  handle(
    call: RequestContext<Key, Static<TObject<Query>>, Static<Body>>,
  ): HandlerResult<Static<Answer>> | Promise<HandlerResult<Static<Answer>>>;
}

/**
 * One row of the route table, from which validation, the OpenAPI document, permissions, types and
 * tests are derived. Elysia's own validation is not used, because it would read a body before the
 * token is checked.
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
  status: SuccessStatus;
}

export function route<
  const Key extends RouteKey,
  Answer extends TSchema,
  // biome-ignore lint/complexity/noBannedTypes: the empty set of properties, not any object
  Query extends TProperties = {},
  Body extends TSchema = TUndefined,
>(
  key: Key,
  options: RouteOptions<NoInfer<Key>, Query, Body, Answer>,
): Route<Key, Query, Body, Answer> {
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

/**
 * Whether rudder-server or rudder-transformer calls a route. These programs do not send browser
 * headers such as Origin, and do not repeat a request after the status 429.
 */
export function isForPrograms({ needs }: Pick<Route, "needs">): boolean {
  return needs !== "open" && needs.includes("workspace-config:read");
}
