import type { Server } from "bun";
import { assert } from "../../assert.ts";
import type { Principal } from "../../catalog/model.ts";
import { ApiError } from "../../errors.ts";
import type { RouteDeps } from "../deps.ts";
import { TooManyRequests } from "../limiters.ts";
import { noteRefusedToken } from "../refused-tokens.ts";
import { isForPrograms, type Route } from "../route.ts";
import { anonymousPrincipal, authenticate, permit, sentToken } from "./authenticate.ts";
import { expectHost, refuseCrossSite } from "./cross-site.ts";

/**
 * A request as the web framework's router passes it on. A path parameter that cannot be decoded is
 * null.
 */
export interface IncomingRequest {
  request: Request;
  params?: Record<string, string | null>;
  server: Server<unknown> | null;
}

/**
 * Returns the caller of a request, found by the request's token. Throws if the token is refused, or
 * lacks a permission that the route needs.
 */
export function admit(route: Route, deps: RouteDeps, incoming: IncomingRequest): Principal {
  const { headers } = incoming.request;
  refuseCrossSite(route, headers, deps.hosts);
  if (route.needs === "open") return anonymousPrincipal;
  if (route.opensWith !== undefined && deps[route.opensWith] && !headers.has("authorization")) {
    expectHost(headers, deps.hosts);
    return anonymousPrincipal;
  }
  const principal = authenticateNoted(route, deps, incoming);
  assert(principal.workspaceId !== "", "A token belongs to a workspace");
  countRequest(route, deps, principal);
  try {
    permit(principal, route.needs);
  } catch (error) {
    noteLacking(route, deps, incoming, principal, error);
    throw error;
  }
  return principal;
}

/**
 * Checks an admitted request's token again, because the catalog may have changed, and returns the
 * caller. Throws if the token is refused (counted for the audit log) or lacks a permission of the
 * route's `needs`.
 */
export function readmit(route: Route, deps: RouteDeps, incoming: IncomingRequest): Principal {
  const principal = authenticateNoted(route, deps, incoming);
  if (route.needs !== "open") permit(principal, route.needs);
  return principal;
}

/** Counts a request against the maximum rate of its workspace. Throws when the rate is exceeded. */
function countRequest(route: Route, { limiters }: RouteDeps, { workspaceId }: Principal): void {
  try {
    limiters.countRequest(workspaceId);
  } catch (error) {
    // rudder-transformer drops events when it gets 429 for their code, and asks again after 503.
    throw isForPrograms(route) && error instanceof TooManyRequests
      ? new ApiError("unavailable", error.message)
      : error;
  }
}

/**
 * Returns the caller of a request. If the request's token is refused, counts the request for the
 * audit log and throws.
 */
function authenticateNoted(route: Route, deps: RouteDeps, incoming: IncomingRequest): Principal {
  const { headers } = incoming.request;
  try {
    return authenticate(deps.catalog, headers);
  } catch (error) {
    const secret = sentToken(headers);
    if (secret !== undefined) {
      const client = clientOf(deps, incoming);
      noteRefusedToken(deps, { secret, client, route: route.key });
    }
    throw error;
  }
}

/** Counts a request as refused in the audit log if `error` says that a permission is lacking. */
export function noteLacking(
  route: Route,
  deps: RouteDeps,
  incoming: IncomingRequest,
  { workspaceId, tokenId }: Principal,
  error: unknown,
): void {
  if (tokenId === "" || !(error instanceof ApiError) || error.refusal !== "forbidden") return;
  const client = clientOf(deps, incoming);
  const reason = error.message;
  deps.refusedTokens.note({ workspaceId, tokenId, client, route: route.key, reason });
}

/** Returns the address of the client that sent a request; empty when it is unknown. */
export function clientOf(deps: RouteDeps, { request, server }: IncomingRequest): string {
  const peer = deps.tlsListener.peerOf(request, server) ?? "";
  return deps.clientOf(peer, request.headers.get("x-forwarded-for") ?? "");
}
