import { reservedHeaders } from "../../egress/egress.ts";
import { isSecretName } from "../masked-url.ts";
import { WEBHOOK_HEADER_NAME_CHARS_MAX, WEBHOOK_HEADER_VALUE_CHARS_MAX } from "./limits.ts";

/**
 * Names of headers, in lower case, that a config must not set: pixelmill sets them itself, or they
 * describe the connection.
 */
const reservedNames = new Set([
  ...reservedHeaders,
  ...["webhook-id", "webhook-timestamp", "webhook-signature", "content-encoding"],
]);

/** Syntax of header names, without `__proto__`, which an object of headers cannot have as a key. */
const HEADER_NAME = /^(?!__proto__$)[!#$%&'*+.^_`|~0-9A-Z-]+$/i;

/** Returns why a header name is not allowed; undefined when the name is allowed. */
export function headerNameFault(name: string): string | undefined {
  if (!HEADER_NAME.test(name)) return "Expected a header name";
  if (name.length > WEBHOOK_HEADER_NAME_CHARS_MAX) {
    return `Expected a header name of at most ${WEBHOOK_HEADER_NAME_CHARS_MAX} characters`;
  }
  return reservedNames.has(name.toLowerCase())
    ? "Expected a header that the service does not set"
    : undefined;
}

/** Returns why a header value is not allowed; undefined when the value is allowed. */
export function headerValueFault(value: string): string | undefined {
  // Visible ASCII characters, spaces and tabs are allowed. A line break would end the header (RFC
  // 9110 §5.5).
  if (!/^[\t\x20-\x7e]*$/.test(value)) return "Expected printable ASCII characters";
  return value.length > WEBHOOK_HEADER_VALUE_CHARS_MAX
    ? `Expected at most ${WEBHOOK_HEADER_VALUE_CHARS_MAX} characters`
    : undefined;
}

/**
 * Whether the value of a header in a config is secret. If the header has the member `secret`,
 * returns its value. Otherwise the header's name decides, which is in the member `from`.
 */
export function isSecretHeader({ from, secret }: { from?: unknown; secret?: unknown }): boolean {
  if (typeof secret === "boolean") return secret;
  const name = String(from);
  return isSecretName(name) || /^((proxy-)?authorization|cookie)$/i.test(name);
}
