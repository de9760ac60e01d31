import { EgressRefused } from "./names.ts";

/**
 * Headers that describe the connection or the body, in lower case. Another's would contradict
 * ours: two lengths of a body let it plant a request on a connection that others share
 * (RFC 9112 §11.2).
 */
export const egressHeaders: ReadonlySet<string> = new Set([
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
/** They speak to proxies, or ask for the request back. */
const notSent = new Set(["CONNECT", "TRACE", "TRACK"]);
/** Without a body they have no length either (RFC 9110 §8.6). */
const bodiless = new Set(["GET", "HEAD", "DELETE", "OPTIONS"]);

export interface RequestText {
  /** In capitals. */
  method: string;
  target: URL;
  headers: Readonly<Record<string, string>>;
  bodyBytes: number;
}

/**
 * The head of a request as HTTP/1.1 has it, a byte per character. Refuses what would end its line
 * and begin another.
 */
export function requestHead({ method, target, headers, bodyBytes }: RequestText): string {
  if (!token.test(method) || notSent.has(method))
    throw new EgressRefused("Expected an HTTP method");
  let head = `${method} ${target.pathname}${target.search} HTTP/1.1\r\nHost: ${target.host}\r\n`;
  for (const name in headers) {
    const value = headers[name]!;
    if (!token.test(name) || egressHeaders.has(name.toLowerCase())) {
      throw new EgressRefused("Expected the name of a header that may be set");
    }
    if (!text.test(value))
      throw new EgressRefused("Expected a header value in one line of Latin-1");
    head += `${name}: ${value}\r\n`;
  }
  const length = bodyBytes === 0 && bodiless.has(method) ? "" : `Content-Length: ${bodyBytes}\r\n`;
  return `${head}Accept-Encoding: identity\r\n${length}\r\n`;
}
