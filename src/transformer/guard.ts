import { createHash, timingSafeEqual } from "node:crypto";
import type { HttpExchange } from "../http/exchange.ts";

/**
 * Returns a function that checks whether a request has the secret `secret`, as a Bearer token or as
 * the name or password of Basic authorization. If `secret` is undefined, every request passes.
 */
export function secretCheck(secret: string | undefined): (exchange: HttpExchange) => boolean {
  if (secret === undefined) return () => true;
  const expected = digest(secret);
  return (exchange) => {
    const given = secretsIn(exchange.header("authorization") ?? "");
    return given.some((text) => timingSafeEqual(digest(text), expected));
  };
}

function secretsIn(authorization: string): string[] {
  const [, scheme = "", value = ""] = /^(basic|bearer) +(\S+)$/i.exec(authorization) ?? [];
  if (scheme.toLowerCase() !== "basic") return value === "" ? [] : [value];
  const text = Buffer.from(value, "base64").toString("utf8");
  const colon = text.indexOf(":");
  return colon < 0 ? [text] : [text.slice(0, colon), text.slice(colon + 1)];
}

const digest = (text: string) => createHash("sha256").update(text).digest();

/**
 * Matches a `Host` header that is `localhost` or an IP address. A browser that sends any other name
 * may run a page of a foreign web site, whose owner has made the name resolve to this machine.
 */
const LOCAL = /^(localhost|\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])(:\d+)?$/i;

/**
 * Whether a browser may have sent the request for a page of another web site. This is so if the
 * request has one of these headers:
 * - `Origin`
 * - `Sec-Fetch-Site` other than `none`
 * - `Host` that does not match `LOCAL`, if the listener is on a loopback address (`isLoopback`)
 */
export function isFromPage(exchange: HttpExchange, isLoopback: boolean): boolean {
  if (exchange.header("origin") !== undefined) return true;
  const site = exchange.header("sec-fetch-site");
  if (site !== undefined && site !== "none") return true;
  return isLoopback && !LOCAL.test(exchange.header("host") ?? "localhost");
}
