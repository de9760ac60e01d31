import { isIP } from "node:net";
import { ApiError } from "../../errors.ts";
import type { Config } from "../../settings/keys.ts";
import { isForPrograms, type Route } from "../route.ts";
import { hasSessionCookie } from "./session-cookie.ts";

/**
 * Returns the hosts of the control plane in lower case, from the settings: `admin.host` with
 * `admin.port`, `admin.hosts`, and the host of `admin.url` (with a port unless it is the default
 * one).
 */
export function controlPlaneHosts(config: Config): string[] {
  const url = config["admin.url"];
  return [
    `${config["admin.host"]}:${config["admin.port"]}`,
    ...config["admin.hosts"],
    ...(url === undefined ? [] : [new URL(url).host]),
  ].map((host) => host.toLowerCase());
}

/**
 * Throws for a request that a page of another origin makes the browser send with the user's cookie
 * or Basic credentials (CSRF). A Bearer token is safe, because browsers never add it by themselves.
 */
export function refuseCrossSite(
  { method, key, needs }: Pick<Route, "method" | "key" | "needs">,
  headers: Headers,
  hosts: readonly string[],
): void {
  // A foreign page that could sign the user in would make the user work in the attacker's
  // workspace.
  const repeated = isSentByBrowser(headers) || key === "POST /v2/session";
  // rudder-server sends Basic credentials under any name by which it reaches the control plane.
  if ((repeated && !isForPrograms({ needs })) || key === "GET /metrics") expectHost(headers, hosts);
  // A GET changes nothing, and another origin's page cannot read the answer.
  if (method === "GET") return;
  const site = headers.get("sec-fetch-site");
  if (site === "cross-site" || site === "same-site") throw crossSiteError();
  // Browsers send no Sec-Fetch-Site over plain HTTP to a host name, and send cookies to every port
  // of a host, so that only Origin remains.
  const origin = headers.get("origin");
  if (repeated && origin !== null && !isSameOrigin(origin, headers, hosts)) throw crossSiteError();
  if (!usesSessionCookie(headers)) return;
  // Only browsers have sessions, and browsers send an Origin with every request that changes
  // something.
  if (needs !== "open" && origin === null) throw crossSiteError();
  // A page may send this type to another origin only if the server allows it (CORS): it never does.
  if (!isJson(headers)) {
    throw new ApiError(
      "forbidden",
      "Expected Content-Type application/json beside a session cookie, got another or none",
    );
  }
}

function isSentByBrowser(headers: Headers): boolean {
  return /^basic /i.test(headers.get("authorization") ?? "") || headers.has("cookie");
}

function usesSessionCookie(headers: Headers): boolean {
  return !headers.has("authorization") && hasSessionCookie(headers);
}

function isJson(headers: Headers): boolean {
  return /^application\/json *(;|$)/i.test(headers.get("content-type") ?? "");
}

/**
 * Throws if the Host header is neither an IP address nor localhost nor a name of the control plane.
 * An attacker can make another name resolve to the control plane's address (DNS rebinding).
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
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  return hosts.some((host) => hostName(host) === name);
}

/**
 * Whether an origin is the control plane's own: its host name and port are those of the request's
 * Host header or are listed in `hosts`. An origin without a port has the default port of its
 * scheme.
 */
function isSameOrigin(origin: string, headers: Headers, hosts: readonly string[]): boolean {
  const [, scheme, host] = /^(https?):\/\/([^/]+)$/i.exec(origin.toLowerCase()) ?? [];
  if (host === undefined) return false;
  const defaultPort = scheme === "https" ? ":443" : ":80";
  const own = headers.get("host")?.toLowerCase();
  return own === host || own === host + defaultPort || hosts.includes(host);
}

/** Returns a host name in lower case, without a port. */
function hostName(host: string): string {
  return host.replace(/:\d*$/, "").toLowerCase();
}

function crossSiteError(): ApiError {
  return new ApiError("forbidden", "Expected a request of this origin, got one of another site");
}
