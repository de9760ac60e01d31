import { EgressRefused } from "./checked-addresses.ts";

/**
 * Headers that describe the connection or the body, in lower case; a caller must not set them. With
 * two lengths of a body, a caller could smuggle a request into a connection that others share
 * (RFC 9112 §11.2).
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
/** Methods that are meant for proxies, or that echo the request. */
const refusedMethods = new Set(["CONNECT", "TRACE", "TRACK"]);
/** Methods that have no `Content-Length` when they have no body (RFC 9110 §8.6). */
const bodiless = new Set(["GET", "HEAD", "DELETE", "OPTIONS"]);

export interface RequestHead {
  /** The method in capitals. */
  method: string;
  target: URL;
  headers: Readonly<Record<string, string>>;
  bodyBytes: number;
}

/**
 * The head of an HTTP/1.1 request, one byte per character. Throws `EgressRefused` for characters
 * that would begin a new line.
 */
export function requestHead({ method, target, headers, bodyBytes }: RequestHead): string {
  if (!token.test(method) || refusedMethods.has(method))
    throw new EgressRefused("Expected an HTTP method");
  let head = `${method} ${target.pathname}${target.search} HTTP/1.1\r\nHost: ${target.host}\r\n`;
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
