import type { HttpExchange } from "../../http/exchange.ts";
import { HttpResponse } from "../../http/response.ts";
import { remembered } from "../../remembered.ts";
import { errorBody, NO_STORE } from "../responses.ts";
import type { SdkAnswer } from "./source-config.ts";

/** Largest number of origins with cached responses. */
const ORIGINS_REMEMBERED_MAX = 1_000;
/** Pattern of origins that browsers send. A response repeats only an origin that matches. */
const ORIGIN = /^[\x21-\x7e]{1,512}$/;
/** Pattern of the list of header names that a browser sends in a preflight request. */
const HEADER_NAMES = /^[A-Za-z0-9!#$%&'*+.^_`|~, -]{1,4096}$/;
/** Seconds for which a browser may reuse the response to a preflight request. */
const PREFLIGHT_SECONDS = "900";

/**
 * Whether a response may repeat the origin that the client sent: true for a text that a browser may
 * send as an origin. Other clients may send a text of any content and length.
 */
function isRepeated(origin: string | undefined): origin is string {
  return origin !== undefined && ORIGIN.test(origin);
}

/**
 * Returns the CORS headers with which a browser lets a page of this origin read a response. They
 * contain the origin itself: beacons send cookies, and a browser does not accept `*` for a request
 * with cookies.
 */
function corsHeaders(origin: string | undefined): Record<string, string> {
  const isKnown = isRepeated(origin);
  return {
    "Access-Control-Allow-Origin": isKnown ? origin : "*",
    ...(isKnown && { "Access-Control-Allow-Credentials": "true" }),
    "Access-Control-Expose-Headers": "Retry-After",
    Vary: "Origin",
  };
}

/** Creates a response to an SDK in a page of this origin. `body` is JSON text. */
export function sdkResponse(
  origin: string | undefined,
  { status, body }: SdkAnswer,
  headers?: Record<string, string>,
): HttpResponse {
  const type = "application/json";
  return new HttpResponse(
    status,
    { "Content-Type": type, "Cache-Control": NO_STORE, ...corsHeaders(origin), ...headers },
    body,
  );
}

/** Creates a response to an SDK that says in one sentence why its request is refused. */
export function sdkErrorResponse(
  origin: string | undefined,
  status: number,
  message: string,
  headers?: Record<string, string>,
): HttpResponse {
  return sdkResponse(origin, { status, body: errorBody(status, message) }, headers);
}

/** The answer to a request whose events are durable. Segment's SDK for Java expects this body. */
const success: SdkAnswer = { status: 200, body: JSON.stringify({ success: true }) };

/** Returns the response to a request whose events are durable. Responses are cached by origin. */
const successFor = remembered(ORIGINS_REMEMBERED_MAX, (origin: string | undefined) =>
  sdkResponse(origin, success),
);

/** Returns the response to a request whose events are durable. `sent` is the request's `Origin`. */
export function successResponse(sent: string | undefined): HttpResponse {
  return successFor(isRepeated(sent) ? sent : undefined);
}

/** Creates the response to a CORS preflight for an SDK path that allows `methods`. */
export function sdkPreflightResponse(request: HttpExchange, methods: string): HttpResponse {
  const wanted = request.header("access-control-request-headers") ?? "";
  const cors = corsHeaders(request.header("origin"));
  return new HttpResponse(204, {
    Allow: methods,
    ...cors,
    Vary: "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
    "Access-Control-Allow-Methods": methods,
    ...(HEADER_NAMES.test(wanted) && { "Access-Control-Allow-Headers": wanted }),
    "Access-Control-Max-Age": PREFLIGHT_SECONDS,
  });
}
