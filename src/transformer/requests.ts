import type { HttpExchange } from "../http/exchange.ts";
import type { HttpResponse } from "../http/response.ts";
import { isObject } from "../is-object.ts";

/**
 * Function that answers a request. It must read all that it needs of `exchange` before it returns
 * its promise. If the promise rejects, this server is at fault. `isAwaited` returns whether the
 * client still waits for the answer.
 */
export type Handler = (
  exchange: HttpExchange,
  isAwaited: () => boolean,
) => HttpResponse | Promise<HttpResponse>;

/**
 * Error of a request whose body lacks a required part. Its message equals that of RudderStack's
 * transformer.
 */
export class RequestFault extends Error {
  override readonly name = "RequestFault";
}

/** Parses the body of a request as a JSON object. Throws `RequestFault` if it is not one. */
export function objectIn(body: Buffer): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(body.toString("utf8"));
  } catch {
    throw new RequestFault("Expected a body that is valid JSON");
  }
  if (!isObject(value)) throw new RequestFault("Expected a body that is a JSON object");
  return value;
}

/** Returns a list's items that are objects; an empty list when the value is no list. */
export function objectsIn(list: unknown): Record<string, unknown>[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** Returns the value if it is a string, otherwise an empty string. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
