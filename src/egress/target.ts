import { remembered } from "../remembered.ts";
import { EgressRefused } from "./checked-addresses.ts";
import { hostOf } from "./connect.ts";

/** The parts of a URL that a request needs: the receiver, and the resource at the receiver. */
export interface Target {
  /** Host name or address. An IPv6 address has no brackets. */
  host: string;
  port: number;
  isSecure: boolean;
  /** Value of the request's `Host` header. */
  authority: string;
  /** Path and query. */
  path: string;
}

/** Maximum number of cached URLs. A URL above `KEPT_CHARS_MAX` characters is not cached. */
const KEPT_MAX = 256;
const KEPT_CHARS_MAX = 1_024;

// Most requests have the URL of an earlier one.
const keptTarget = remembered(KEPT_MAX, readTarget);

/** Returns the target of a URL. Throws `EgressRefused` when `checkedUrl` refuses the URL. */
export function targetOf(url: string): Target {
  return url.length > KEPT_CHARS_MAX ? readTarget(url) : keptTarget(url);
}

function readTarget(url: string): Target {
  const { protocol, hostname, host, port, pathname, search } = checkedUrl(url);
  const isSecure = protocol === "https:";
  return {
    host: hostOf({ hostname }),
    port: port === "" ? (isSecure ? 443 : 80) : Number(port),
    isSecure,
    authority: host,
    path: pathname + search,
  };
}

/**
 * Parses a URL. Throws `EgressRefused` unless it is an http or https URL without user name and
 * password.
 */
export function checkedUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new EgressRefused(
      "Expected a URL with http:// or https://, and with a valid host and port",
    );
  }
  if (url.username !== "" || url.password !== "") {
    throw new EgressRefused(
      "Expected a URL without a user and a password, which a header may hold",
    );
  }
  return url;
}
