import { assert } from "../../assert.ts";
import type { Principal } from "../../catalog/model.ts";
import type { Permit } from "../../concurrency/permit.ts";
import { ApiError } from "../../errors.ts";
import type { LoopLateness } from "../../observe/loop-lateness.ts";
import {
  BODY_BYTES_MAX,
  ID_CHARS_MAX,
  IDLE_CONNECTION_SECONDS_MAX,
} from "../../settings/limits.ts";
import type { RouteDeps } from "../deps.ts";
import { Tagged, tagHeader } from "../entity-tag.ts";
import { SMALL_BODY_BYTES_MAX } from "../limits.ts";
import { isErrorStatus, jsonResponse, responseHeaders } from "../response/errors.ts";
import { EVENT_STREAM, type Route } from "../route.ts";
import { admit, clientOf, type IncomingRequest, noteLacking, readmit } from "./admit.ts";
import { authenticate, permit, permitAny } from "./authenticate.ts";
import { parseForm, parseJson, readBody } from "./body.ts";
import { expectPreconditions, isNotModified, readPreconditions } from "./preconditions.ts";
import { runRecorded } from "./record-action.ts";
import { RequestDeadline } from "./request-deadline.ts";
import { logDone, logRefused } from "./request-log.ts";
import { isJudgedInChange, UnprovenView } from "./unproven-view.ts";
import { expectBody, readQuery } from "./validation.ts";

/**
 * Maximum size in bytes of the body of a request that needs no token. A larger body is answered
 * with 413.
 */
export const OPEN_BODY_BYTES_MAX = 4_096;

const NOT_MODIFIED = 304;

/**
 * Objects that all requests of one listener use. `closing` aborts when the listener stops.
 * `lateness` measures how late the event loop runs its timers.
 */
export interface ListenerContext {
  deps: RouteDeps;
  closing: AbortSignal;
  lateness: LoopLateness;
}

/**
 * Whether a route's answer may depend on stored data. False only for GET routes that need no token:
 * they answer about the process itself, even before any data is stored.
 */
const readsStore = ({ needs, method }: Route) => needs !== "open" || method !== "GET";

const readsLedgers = ({ needs, readsNoLedgers = false }: Route) =>
  needs !== "open" &&
  !readsNoLedgers &&
  needs.some((permission) => permission.startsWith("events:"));

/**
 * Answers one request. It checks the token's permissions before it reads the body, so that a
 * refused request costs little.
 */
export async function handleRequest(
  route: Route,
  listener: ListenerContext,
  incoming: IncomingRequest,
): Promise<Response> {
  const { deps, lateness } = listener;
  const deadline = new RequestDeadline(deps.answerMsMax, () => lateness.recentMs());
  const inTime = <T>(part: () => T | Promise<T>) =>
    withoutIdleTimeout(route, incoming, () => deadline.run(part));
  const judgedInChange = isJudgedInChange(route, deps.catalog, incoming.request.headers);
  const view = judgedInChange ? new UnprovenView(deps.catalog) : undefined;
  if (readsStore(route)) {
    const starting = deps.starting();
    if (starting !== undefined) throw new ApiError("unavailable", starting);
    if (view === undefined) await inTime(() => deps.catalog.current());
  }
  if (readsLedgers(route)) await inTime(() => deps.pipeline.current());
  const principal = admit(route, deps, incoming);
  const logged = { route, params: incoming.params, ...principal };
  try {
    const admitted = { principal, view, deadline };
    const { answer, ...request } = await runRoute(route, listener, incoming, admitted).catch(
      async (error: unknown) => {
        if (view === undefined || view.isProven) throw error;
        await inTime(() => view.catchUp());
        readmit(route, deps, incoming);
        throw error;
      },
    );
    const response = toResponse(route, answer);
    logDone(deps.logger, logged, {
      ...request,
      answer: answer instanceof Tagged ? answer.answer : answer,
    });
    return response;
  } catch (error) {
    logRefused(deps.logger, logged, error);
    noteLacking(route, deps, incoming, principal, error);
    throw error;
  }
}

/** Makes the response from the value that the route's handler returned. */
function toResponse(route: Route, answer: unknown): Response {
  if (answer instanceof Response) {
    assert(!answer.bodyUsed, "A response is sent once");
    assert(
      [route.status, NOT_MODIFIED].includes(answer.status) || isErrorStatus(answer.status),
      "A route answers its own status, 304 or one of the table of errors",
    );
    return answer;
  }
  if (answer instanceof Tagged) return jsonResponse(answer.answer, route.status, tagHeader(answer));
  const hasBody = route.status !== 204 && route.status !== 303;
  assert((answer !== undefined) === hasBody, "A route answers a body unless its status is 204");
  if (hasBody) return jsonResponse(answer, route.status);
  return new Response(null, { status: 204, headers: responseHeaders });
}

/** A request whose token has the permissions that its route needs. */
interface AdmittedRequest {
  principal: Principal;
  /**
   * Present if this node runs the handler without first waiting for the catalog's newest changes.
   * In this case, the transaction that makes the request's change checks the token again.
   */
  view: UnprovenView | undefined;
  deadline: RequestDeadline;
}

async function runRoute(
  route: Route,
  { deps, closing }: ListenerContext,
  incoming: IncomingRequest,
  { principal, view, deadline }: AdmittedRequest,
) {
  const { request, params } = incoming;
  const query = readQuery(route.query, request.url);
  // Before the body is read, checks the permissions that the query requires, and those that every
  // body requires.
  permitConditional(route, principal, { query, body: {} });
  const body = await readValidBody(route, deps, incoming, principal);
  permitConditional(route, principal, { query, body });
  const client = () => clientOf(deps, incoming);
  const answerTo = (caller: Principal) => {
    const path = checkPathParams(params ?? {});
    const { workspaceId } = caller;
    const call = { deps, principal: caller, workspaceId, params: path, query, body };
    return runRecorded({ ...call, route, client }, () =>
      handlePreconditioned(route, { ...call, request, client, closing }),
    );
  };
  const again = {
    judge: () => authenticate(deps.catalog, request.headers),
    readmit: () => readmit(route, deps, incoming),
  };
  const handle = () => view?.change(principal, again, answerTo) ?? answerTo(principal);
  const answer = await withoutIdleTimeout(route, incoming, () =>
    route.isLong ? handle() : deadline.run(handle),
  );
  return { query, body, answer };
}

/**
 * Calls the route's handler if the resource fulfils the request's preconditions. If the route
 * changes the resource, checks the preconditions again inside the transaction, so that two requests
 * cannot both change the same state of the resource.
 */
async function handlePreconditioned(
  { method, current, handle }: Route,
  context: Parameters<Route["handle"]>[0],
): Promise<unknown> {
  const preconditions = current && readPreconditions(context.request.headers);
  if (current === undefined || preconditions === undefined) return handle(context);
  if (method !== "GET") {
    const check = () => expectPreconditions(preconditions, current(context));
    check();
    return context.deps.catalog.conditionally(check, async () => handle(context));
  }
  const { ifNoneMatch, ...ifMatch } = preconditions;
  expectPreconditions(ifMatch, current(context));
  const answer = await handle(context);
  if (!(answer instanceof Tagged) || !isNotModified({ ifNoneMatch }, answer)) return answer;
  return new Response(null, {
    status: NOT_MODIFIED,
    headers: { ...responseHeaders, ...tagHeader(answer) },
  });
}

/**
 * Reads, parses and validates a request's body. Its size counts against the workspace's rate. A
 * body above `BODY_BYTES_PER_REQUEST` waits for its turn to be read; above `SMALL_BODY_BYTES_MAX`,
 * also to be parsed.
 */
async function readValidBody(
  route: Route,
  { limiters }: RouteDeps,
  incoming: IncomingRequest,
  { workspaceId }: Principal,
): Promise<unknown> {
  const { body, hasLargeBody } = route;
  if (!body) return undefined;
  const isOpen = route.needs === "open";
  let longBody: Permit | undefined;
  try {
    const bytes = await readBody(incoming.request, {
      isForm: route.isForm ?? false,
      bytesMax: isOpen ? OPEN_BODY_BYTES_MAX : bodyBytesMax(route),
      onRead: (size) => {
        if (!isOpen) limiters.countBody(workspaceId, size);
      },
      admitLong: async (signal) => {
        const turn = () => limiters.admitLongBody(workspaceId, signal);
        longBody = await withoutIdleTimeout(route, incoming, turn);
      },
    });
    if (route.isForm) return expectBody(body, parseForm(bytes));
    const parse = () => expectBody(body, parseJson(bytes, hasLargeBody));
    if (bytes.length <= SMALL_BODY_BYTES_MAX) return parse();
    const permit = await limiters.largeBodies.acquire(workspaceId, new AbortController().signal);
    const startedAt = performance.now();
    try {
      return parse();
    } finally {
      // The next large body waits as long as this one took to parse, so that the event loop does
      // other work meanwhile, such as deliveries.
      setTimeout(() => permit.release(), performance.now() - startedAt);
    }
  } finally {
    longBody?.release();
  }
}

/** Returns the maximum size in bytes of the body of a request to this route. */
export function bodyBytesMax({ hasLargeBody = false }: Pick<Route, "hasLargeBody">): number {
  return hasLargeBody ? BODY_BYTES_MAX : SMALL_BODY_BYTES_MAX;
}

/**
 * Throws unless the token has the permissions that the route needs in addition to `needs`:
 * - at least one permission of `needsOneOf`, if present
 * - all permissions of each entry of `alsoNeeds` whose condition holds for this query and body
 * - if `needs` is empty and `alsoNeeds` is not: all permissions of at least one entry of
 *   `alsoNeeds`, whether or not the entry's condition holds
 */
function permitConditional(
  { needs, needsOneOf, alsoNeeds = [] }: Route,
  principal: Principal,
  input: { query: unknown; body: unknown },
): void {
  const needed = alsoNeeds.filter((condition) => condition.holds(input as never));
  const permissions = needed.flatMap((condition) => condition.permissions);
  permit(principal, permissions);
  const alternatives = needsOneOf?.map((permission) => [permission]);
  if (alternatives !== undefined) permitAny(principal, alternatives);
  if (needs.length > 0 || alsoNeeds.length === 0) return;
  const conditional = alsoNeeds.map((condition) => condition.permissions);
  permitAny(principal, conditional);
}

/**
 * Runs `handle` without the connection's idle timeout, because the client then waits for the
 * server. Sets the timeout again afterwards, except for an event stream, which lasts until one side
 * ends it.
 */
async function withoutIdleTimeout<T>(
  { media }: Route,
  { request, server }: IncomingRequest,
  handle: () => T | Promise<T>,
): Promise<T> {
  server?.timeout(request, 0);
  try {
    return await handle();
  } finally {
    if (media !== EVENT_STREAM) server?.timeout(request, IDLE_CONNECTION_SECONDS_MAX);
  }
}

function checkPathParams(params: Record<string, string | null>): Record<string, string> {
  for (const value of Object.values(params)) {
    if (value === null || value.length > ID_CHARS_MAX) {
      throw new ApiError("missing", "Expected an id in the path, got an invalid one");
    }
  }
  return params as Record<string, string>;
}
