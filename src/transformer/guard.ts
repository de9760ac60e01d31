import { createHash, timingSafeEqual } from "node:crypto";
import type { HttpExchange } from "../http/exchange.ts";

/**
 * Creates the check of a request's shared secret, which is the name or the password of Basic
 * authorization, or a Bearer token. If no secret is set, every request passes.
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

/** Host names from which a page in a browser cannot reach this machine's loopback address. */
const LOCAL = /^(localhost|\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])(:\d+)?$/i;

/**
 * Whether a browser may have sent the request for a foreign page. Servers send no such headers. A
 * page whose own name resolves to this machine has that name in `Host`, which `isLoopback` refuses.
 */
export function isFromPage(exchange: HttpExchange, isLoopback: boolean): boolean {
  if (exchange.header("origin") !== undefined) return true;
  const site = exchange.header("sec-fetch-site");
  if (site !== undefined && site !== "none") return true;
  return isLoopback && !LOCAL.test(exchange.header("host") ?? "localhost");
}
