import { isIP } from "node:net";
import { ApiError } from "../../errors.ts";
import type { Route } from "../route.ts";
import { sessionSecret } from "./session-cookie.ts";

/**
 * Keeps foreign pages in a browser from acting as the browser's user. A browser sends Basic
 * credentials and cookies again by itself, whichever page causes the request; a Bearer token only
 * its own page can send.
 */
export function refuseCrossSite(
  { method, key, needs }: Pick<Route, "method" | "key" | "needs">,
  headers: Headers,
  hosts: readonly string[],
): void {
  // A foreign page that signs a browser in would make the browser's user work in a stranger's
  // workspace.
  const repeated = isSentByBrowser(headers) || key === "POST /v2/session";
  if (repeated || key === "GET /metrics") expectHost(headers, hosts);
  // Reading does no harm, since a foreign page does not see the answer.
  if (method === "GET") return;
  const site = headers.get("sec-fetch-site");
  if (site === "cross-site" || site === "same-site") throw crossSiteError();
  // Plain HTTP under a name is no secure context, where browsers send no Sec-Fetch-Site.
  const origin = headers.get("origin");
  if (repeated && origin !== null && !isSameOrigin(origin, headers, hosts)) throw crossSiteError();
  // Only browsers have sessions, and browsers tell the origin of every change.
  if (needs !== "open" && usesSessionCookie(headers) && origin === null) throw crossSiteError();
}

function isSentByBrowser(headers: Headers): boolean {
  return /^basic /i.test(headers.get("authorization") ?? "") || headers.has("cookie");
}

function usesSessionCookie(headers: Headers): boolean {
  return !headers.has("authorization") && sessionSecret(headers) !== undefined;
}

/**
 * Refuses names that are not the control plane's: a foreign name that is rebound to this address
 * would make a foreign page one of this origin.
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

/** Whether the origin is the one that the request came to, or a name that a proxy has for it. */
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
