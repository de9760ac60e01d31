import type { Static, TObject, TProperties, TSchema, TUndefined } from "@sinclair/typebox";
import { Type } from "@sinclair/typebox";
import type { Permission, Principal } from "../catalog/model.ts";
import type { RouteDeps } from "./deps.ts";
import type { CurrentResource, Tagged } from "./entity-tag.ts";

/**
 * The media type of server-sent events. A stream of them lasts until the client or the server ends
 * it.
 */
export const EVENT_STREAM = "text/event-stream";

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

/** An authenticated and validated request, which is the argument of a route's handler. */
export interface RequestContext<Key extends string, Query, Body> {
  deps: RouteDeps;
  principal: Principal;
  workspaceId: string;
  params: PathParams<Key>;
  query: Query;
  body: Body;
  request: Request;
  /**
   * Returns the client's IP address, or its network when one client may have many addresses (IPv6).
   */
  client(): string;
  /** Aborts when the listener stops. Streams must end then. */
  closing: AbortSignal;
}

/**
 * Permissions that a request needs in addition if `holds` returns true for its query and body.
 * `when` describes the condition in the OpenAPI document. `holds` is first called with an empty
 * body, before the body is read. A condition that holds for the empty body must hold for every
 * body.
 */
export interface ConditionalPermission<Input> {
  when: string;
  permissions: readonly Permission[];
  holds(input: Input): boolean;
}

/** The part of a request that determines which resources it is about. */
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
   * Member of the dependencies that lets requests without an Authorization header call the route as
   * well, if it is true.
   */
  opensWith?: "opensCode";
  /**
   * Whether the answer contains current figures. The route then does not wait until this node has
   * read all ledgers (delivery progress of partitions), although it needs a permission for events.
   */
  answersFigures?: boolean;
  query?: Query;
  /** Schema of the body. A request without a body counts as `{}`. */
  body?: Body;
  /** Whether the body is a form (`application/x-www-form-urlencoded`) and not JSON. */
  isForm?: boolean;
  /** Whether the body contains code or events, so that its maximum size is `BODY_BYTES_MAX`. */
  hasLargeBody?: boolean;
  /**
   * Whether the answer waits for user code or for a receiver, which have time limits of their own
   * beyond `API_ANSWER_MS_MAX`.
   */
  isLong?: boolean;
  /**
   * Returns the current state of the one resource that the path names, or of all resources that the
   * body names. Empty while there is none. Throws `missing` when the route itself would. A route
   * with this function honours If-Match and If-None-Match, and a successful answer of the resource
   * is `Tagged`.
   */
  current?(call: ResourceCall<NoInfer<Key>, Static<NoInfer<Body>>>): readonly CurrentResource[];
  /**
   * Whether the handler makes the whole response, with an entity tag, and with 304 for a client
   * that has the current state.
   */
  answersTag?: boolean;
  /** Whether the route creates one resource, so that its answer is `Tagged`. */
  creates?: boolean;
  answer: Answer;
  /** Status of a successful answer. 204 and the redirect 303 have no body. */
  status?: SuccessStatus;
  /** Media type of a successful answer that is not JSON. */
  media?: string;
  /** Schema of a 400 response that has more fields than an error message. */
  refusal?: TSchema;
  /** `query` is needed if the route would answer 404 without one. */
  example: {
    params?: PathParams<Key>;
    query?: string;
    body?: Static<Body>;
    answer: Static<Answer>;
  };
  /**
   * How the audit log records a request that is not a GET: `catalog` by the rows of the catalog that
   * it writes, which is the default, `none` if it changes nothing, else by an entry of this action.
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
 * One row of the route table. Validation, the OpenAPI document, permissions, types and tests are
 * derived from the row. The web framework Elysia only routes and listens: its own schemas would
 * read a body before the token is checked, and its errors have another form.
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

/**
 * Whether a route is one that rudder-server and rudder-transformer call. They send no browser
 * headers, and treat 429 as a final answer.
 */
export function isForPrograms({ needs }: Pick<Route, "needs">): boolean {
  return needs !== "open" && needs.includes("workspace-config:read");
}
