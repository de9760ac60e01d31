import type { HttpExchange } from "../../http/exchange.ts";

const BASIC = /^basic +([A-Za-z0-9+/_=-]{1,2048})$/i;

/**
 * Returns the user name in the header `Authorization` of a request; undefined when there is none.
 * SDKs send the write key as user name. The password is ignored.
 */
export function basicUser(exchange: Pick<HttpExchange, "header">): string | undefined {
  const [, encoded] = BASIC.exec(exchange.header("authorization") ?? "") ?? [];
  if (encoded === undefined) return undefined;
  const credentials = Buffer.from(encoded, "base64").toString("utf8");
  const colon = credentials.indexOf(":");
  return (colon < 0 ? credentials : credentials.slice(0, colon)) || undefined;
}

/** Returns the write key in the query of a request; undefined when there is none. */
export function queryWriteKey({ query }: Pick<HttpExchange, "query">): string | undefined {
  return new URLSearchParams(query).get("writeKey") || undefined;
}
