import type { HttpExchange } from "../http/exchange.ts";
import type { HttpResponse } from "../http/response.ts";
import { isObject } from "../is-object.ts";

/**
 * Function that answers a request. It must read all that it needs of `exchange` before it returns
 * its promise. `isAwaited` returns whether the client still waits. A rejection counts as a fault of
 * this server.
 */
export type Handler = (
  exchange: HttpExchange,
  isAwaited: () => boolean,
) => HttpResponse | Promise<HttpResponse>;

/**
 * Error that is thrown when a part of a request's body is missing or unusable. The request is
 * answered with 400 and the error's message.
 */
export class RequestFault extends Error {
  override readonly name = "RequestFault";
}

/** Parses the body of a request, which must be a JSON object. Throws `RequestFault` otherwise. */
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

/** Returns the items of a list that are objects; an empty list when `list` is no list. */
export function objectsIn(list: unknown): Record<string, unknown>[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** Returns the value if it is a string, otherwise an empty string. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
