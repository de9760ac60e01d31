import ipaddr from "ipaddr.js";
import type { Source } from "../catalog/model.ts";

/**
 * Number of leading bits of an IPv4 address that the setting `ip: "truncate"` keeps. The others
 * become 0.
 */
const IPV4_BITS = 24;
const IPV6_BITS = 48;

/**
 * Returns a client's IP address as the source's setting `ip` says: whole, with its last bits set to
 * 0, or the empty string. `address` must be in the form that `ClientAddresses` returns.
 */
export function recordedAddress({ settings }: Pick<Source, "settings">, address: string): string {
  const mode = settings?.ip ?? "keep";
  if (mode === "keep") return address;
  return mode === "truncate" ? truncated(address) : "";
}

/**
 * Returns an IP address with its last bits set to 0; the empty string for a text that is no
 * address.
 */
function truncated(text: string): string {
  if (!ipaddr.isValid(text)) return "";
  const address = ipaddr.parse(text);
  const bits = address.kind() === "ipv4" ? IPV4_BITS : IPV6_BITS;
  const bytes = address.toByteArray().map((byte, i) => (8 * i < bits ? byte : 0));
  return ipaddr.fromByteArray(bytes).toString();
}

/**
 * Whether a source accepts events from a page with this origin. `origin` is the value of the
 * request's `Origin` header. Requests without this header are always accepted, because only
 * browsers send it.
 */
export function allowsOrigin(
  { settings }: Pick<Source, "settings">,
  origin: string | undefined,
): boolean {
  const allowed = settings?.allowedOrigins;
  if (allowed === undefined || allowed.length === 0) return true;
  if (origin === undefined || origin === "") return true;
  const sent = origin.toLowerCase();
  return allowed.some((pattern) => matches(pattern.toLowerCase(), sent));
}

/** Whether an origin equals a pattern, in which `*.` stands for one or more labels of a host. */
function matches(pattern: string, origin: string): boolean {
  const star = pattern.indexOf("*.");
  if (star < 0) return pattern === origin;
  const scheme = pattern.slice(0, star);
  const rest = pattern.slice(star + 1);
  const hasLabel = origin.length > scheme.length + rest.length;
  return hasLabel && origin.startsWith(scheme) && origin.endsWith(rest);
}
