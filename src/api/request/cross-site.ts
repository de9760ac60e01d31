import { isIP } from "node:net";
import { ApiError } from "../../errors.ts";
import type { Route } from "../route.ts";
import { sessionSecret } from "./session-cookie.ts";

/**
 * Refuses requests that another site's page sends with the user's credentials (CSRF). A browser
 * attaches Basic credentials and cookies to the requests of any page; a Bearer token is attached by
 * the console's own page only.
 */
export function refuseCrossSite(
  { method, key, needs }: Pick<Route, "method" | "key" | "needs">,
  headers: Headers,
  hosts: readonly string[],
): void {
  // Signed in by another site's page, the user would work in a stranger's workspace.
  const repeated = isSentByBrowser(headers) || key === "POST /v2/session";
  if (repeated || key === "GET /metrics") expectHost(headers, hosts);
  // Reading does no harm: another site's page does not see the answer.
  if (method === "GET") return;
  const site = headers.get("sec-fetch-site");
  if (site === "cross-site" || site === "same-site") throw crossSiteError();
  // Browsers send no Sec-Fetch-Site over plain HTTP to a host name.
  const origin = headers.get("origin");
  if (repeated && origin !== null && !isSameOrigin(origin, headers, hosts)) throw crossSiteError();
  // Only browsers have sessions, and browsers send the origin of every change.
  if (needs !== "open" && usesSessionCookie(headers) && origin === null) throw crossSiteError();
}

function isSentByBrowser(headers: Headers): boolean {
  return /^basic /i.test(headers.get("authorization") ?? "") || headers.has("cookie");
}

function usesSessionCookie(headers: Headers): boolean {
  return !headers.has("authorization") && sessionSecret(headers) !== undefined;
}

/**
 * Refuses host names that are not the control plane's: by DNS rebinding, a foreign name could resolve
 * to this address and its page would count as same-origin.
 */
export function expectHost(headers: Headers, hosts: readonly string[]): void {
  const host = headers.get("host");
  if (!host || isAllowedHost(hostName(host), hosts)) return;
  throw new ApiError(
    "forbidden",
    "Expected an address, localhost or a name of the setting admin.hosts as Host, got another",
  );
}

function isAllowedHost(name: string, hosts: readonly string[]): boolean {
  if (isIP(name.replace(/^\[|\]$/g, "")) !== 0) return true;
  return name === "localhost" || name.endsWith(".localhost") || hosts.includes(name);
}

/** Whether the origin is the host of the request, or a name that the setting admin.hosts lists. */
function isSameOrigin(origin: string, headers: Headers, hosts: readonly string[]): boolean {
  const [, host] = /^https?:\/\/([^/]+)$/i.exec(origin) ?? [];
  if (host === undefined) return false;
  return (
    host.toLowerCase() === headers.get("host")?.toLowerCase() || hosts.includes(hostName(host))
  );
}

/** A host's name without the port. */
function hostName(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase();
}

function crossSiteError(): ApiError {
  return new ApiError("forbidden", "Expected a request of this origin, got one of another site");
}
