import { EgressRefused } from "./checked-addresses.ts";
import type { Target } from "./target.ts";

/**
 * Names, in lower case, of headers that describe the connection or the body's length. Callers must
 * not set them, because a second length could smuggle another request into the connection (RFC 9112
 * §11.2).
 */
export const reservedHeaders: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "upgrade",
  "te",
  "trailer",
  "expect",
  "accept-encoding",
]);

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const text = /^[\t\x20-\x7e\x80-\xff]*$/;
/**
 * HTTP methods that are refused. CONNECT is for proxies, and the responses to TRACE and TRACK
 * repeat the request with its secrets.
 */
const refusedMethods = new Set(["CONNECT", "TRACE", "TRACK"]);
/**
 * HTTP methods whose requests have no `Content-Length` header when they have no body (RFC 9110
 * §8.6).
 */
const bodiless = new Set(["GET", "HEAD", "DELETE", "OPTIONS"]);

interface RequestHead {
  /** The HTTP method in capital letters. */
  method: string;
  target: Pick<Target, "authority" | "path">;
  headers: Readonly<Record<string, string>>;
  bodyBytes: number;
}

/**
 * Returns the head of an HTTP/1.1 request as a string with one character per byte. Throws
 * `EgressRefused` if the method, or the name or value of a header, is not permitted.
 */
export function requestHead({ method, target, headers, bodyBytes }: RequestHead): string {
  if (!token.test(method) || refusedMethods.has(method))
    throw new EgressRefused("Expected an HTTP method");
  let head = `${method} ${target.path} HTTP/1.1\r\nHost: ${target.authority}\r\n`;
  for (const name in headers) {
    const value = headers[name]!;
    if (!token.test(name) || reservedHeaders.has(name.toLowerCase())) {
      throw new EgressRefused("Expected the name of a header that may be set");
    }
    if (!text.test(value))
      throw new EgressRefused("Expected a header value in one line of Latin-1");
    head += `${name}: ${value}\r\n`;
  }
  const length = bodyBytes === 0 && bodiless.has(method) ? "" : `Content-Length: ${bodyBytes}\r\n`;
  return `${head}Accept-Encoding: identity\r\n${length}\r\n`;
}
