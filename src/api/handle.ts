import type { Server } from "bun";
import type { Principal } from "../catalog/model.ts";
import { ApiError } from "../errors.ts";
import { BODY_BYTES_MAX, ID_CHARS_MAX, IDLE_CONNECTION_SECONDS_MAX } from "../settings/limits.ts";
import { authenticate, nobody, permit } from "./auth.ts";
import { readJson } from "./body.ts";
import { refuseForeignPages } from "./browsers.ts";
import { answerHeaders, json, TooMany } from "./errors.ts";
import type { ApiParts } from "./parts.ts";
import { tellDone, tellRefused } from "./request-log.ts";
import { expectBody, readQuery } from "./request-validation.ts";
import { EVENT_STREAM, type Route } from "./route.ts";

/** Bytes of the body of a request that needs no token; more is 413. */
export const OPEN_BODY_BYTES_MAX = 4_096;

/** A request as the router hands it over; a parameter that cannot be decoded is null. */
export interface Arrival {
  request: Request;
  params?: Record<string, string | null>;
  server: Server<unknown> | null;
}

/** What all requests of a listener share. */
export interface Listener {
  parts: ApiParts;
  /** Takes one request of a token's allowance; returns 0, or the seconds to wait. */
  take(tokenId: string): number;
  closing: AbortSignal;
}

const isOfEvents = ({ needs }: Route) =>
  needs !== "open" && needs.some((permission) => permission.startsWith("events:"));

/**
 * Answers one request, with the cheapest refusal first: nothing of the body is read before the
 * token is known and permits what the route does.
 */
export async function serve(route: Route, listener: Listener, arrival: Arrival): Promise<Response> {
  const { parts } = listener;
  // Whether the server is well is answered also while nobody knows what other nodes have changed.
  if (route.needs !== "open") await parts.catalog.current();
  if (isOfEvents(route)) await parts.pipeline.current();
  const principal = admitted(route, listener, arrival.request.headers);
  const asked = { route, params: arrival.params, ...principal };
  try {
    const { answer, ...request } = await answered(route, listener, arrival, principal);
    tellDone(parts.logger, asked, { ...request, answer });
    if (answer instanceof Response) return answer;
    if (route.status === 204) return new Response(null, { status: 204, headers: answerHeaders });
    return json(answer, route.status);
  } catch (error) {
    tellRefused(parts.logger, asked, error);
    throw error;
  }
}

async function answered(
  route: Route,
  { parts, closing }: Listener,
  arrival: Arrival,
  principal: Principal,
) {
  const { request, params } = arrival;
  const query = readQuery(route.query, request.url);
  const bytesMax = route.needs === "open" ? OPEN_BODY_BYTES_MAX : BODY_BYTES_MAX;
  const body = route.body && expectBody(route.body, await readJson(request, { bytesMax }));
  const more = (route.alsoNeeds ?? []).filter((condition) => condition.holds({ query, body }));
  const needed = more.flatMap((condition) => condition.permissions);
  permit(principal, needed);
  const answer = await unhurried(route, arrival, () =>
    route.handle({
      parts,
      principal,
      workspaceId: principal.workspaceId,
      params: decoded(params ?? {}),
      query,
      body,
      request,
      client: () => clientOf(parts, arrival),
      closing,
    }),
  );
  return { query, body, answer };
}

function clientOf(parts: ApiParts, { request, server }: Arrival): string {
  const peer = server?.requestIP(request)?.address ?? "";
  return parts.clientOf(peer, request.headers.get("x-forwarded-for") ?? "");
}

/**
 * Runs a handler without the idle timeout, which is meant for slow senders: publish tests think
 * longer than that, and a stream has no end. The timeout belongs to the connection, and is set
 * again for the next request.
 */
async function unhurried<T>(
  { media }: Route,
  { request, server }: Arrival,
  handle: () => T | Promise<T>,
): Promise<T> {
  server?.timeout(request, 0);
  try {
    return await handle();
  } finally {
    if (media !== EVENT_STREAM) server?.timeout(request, IDLE_CONNECTION_SECONDS_MAX);
  }
}

function admitted(route: Route, { parts, take }: Listener, headers: Headers): Principal {
  refuseForeignPages(route, headers, parts.hosts);
  if (route.needs === "open") return nobody;
  const principal = authenticate(parts.catalog, headers);
  const waitSeconds = take(principal.tokenId);
  if (waitSeconds > 0) throw new TooMany(waitSeconds);
  permit(principal, route.needs);
  return principal;
}

function decoded(params: Record<string, string | null>): Record<string, string> {
  for (const value of Object.values(params)) {
    if (value === null || value.length > ID_CHARS_MAX) {
      throw new ApiError("missing", "Expected an id in the path, got what cannot be one");
    }
  }
  return params as Record<string, string>;
}
