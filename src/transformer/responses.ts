import { HttpResponse } from "../http/response.ts";

const JSON_TYPE = "application/json; charset=utf-8";
/**
 * Headers of JSON responses. `apiVersion` is the version of the response format. rudder-server
 * exits if a response lacks this header.
 */
const versioned = { "Content-Type": JSON_TYPE, apiVersion: "2" };

/** Creates a response with a JSON body. `body` is a value, or the bytes of its JSON. */
export function jsonResponse(status: number, body: unknown): HttpResponse {
  const bytes = body instanceof Uint8Array ? body : JSON.stringify(body);
  return new HttpResponse(status, versioned, bytes);
}

export function textResponse(status: number, text: string): HttpResponse {
  return new HttpResponse(status, { "Content-Type": "text/plain; charset=utf-8" }, text);
}

/**
 * Reason why rudder-server must send a request again, for the header `X-Rudder-Error-Reason`. It is
 * an identifier instead of a sentence, because rudder-server uses it as a label of its metrics.
 */
export type AgainReason =
  | "busy"
  | "failed"
  | "page"
  | "secret_missing"
  | "stopping"
  | "timeout"
  | "unavailable"
  | "user_code_unavailable";

/**
 * Creates a 503 response, after which rudder-server sends the same request again until it gets
 * another response. After any other response except 200, rudder-server drops the events, or exits
 * after several attempts.
 */
export function againResponse(reason: AgainReason, message: string): HttpResponse {
  const headers = {
    ...versioned,
    "X-Rudder-Should-Retry": "true",
    "X-Rudder-Error-Reason": reason,
    "Retry-After": "1",
  };
  return new HttpResponse(503, headers, JSON.stringify({ error: message }));
}
