import { HttpResponse } from "../http/response.ts";

/** A transparent GIF image of one pixel, 43 bytes. It is the same as RudderStack's. */
const GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAAAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==", "base64");

/**
 * Value of `Cache-Control` that forbids caching. A cached pixel would send no request, so its event
 * would be lost.
 */
export const NO_STORE = "no-store, no-cache, must-revalidate, private";
const SHARED = {
  "Cache-Control": NO_STORE,
  Expires: "0",
  "Access-Control-Allow-Origin": "*",
  // A page that requires consent of embedded resources (COEP) may embed a pixel and measure its
  // time.
  "Cross-Origin-Resource-Policy": "cross-origin",
  "Timing-Allow-Origin": "*",
};

/**
 * Header that lets the scripts of web pages read the header `Retry-After`: the number of seconds
 * after which to try again. Responses with status 429 or 503 have `Retry-After`.
 */
const EXPOSED = { "Access-Control-Expose-Headers": "Retry-After" };

/** The response to a pixel whose event is durable. */
export const pixelResponse = new HttpResponse(200, { "Content-Type": "image/gif", ...SHARED }, GIF);

/**
 * Creates an error response whose body is one sentence. The sentence must not contain the client's
 * input.
 */
export function errorResponse(
  status: number,
  message: string,
  headers?: Record<string, string>,
): HttpResponse {
  return new HttpResponse(
    status,
    { "Content-Type": "application/json", ...SHARED, ...EXPOSED, ...headers },
    errorBody(status, message),
  );
}

/**
 * Returns the JSON body of an error response. RudderStack's SDK for Python reads `message` and
 * `code` of every error. If `code` is missing, the SDK assumes a network failure and sends its
 * events again.
 */
export function errorBody(status: number, message: string): string {
  return JSON.stringify({ message, code: status });
}

const METHODS = "GET, POST, OPTIONS";

export const wrongMethodResponse = errorResponse(405, "Expected the method GET or POST", {
  Allow: METHODS,
});

const READING_METHODS = "GET, HEAD, OPTIONS";

export const readOnlyResponse = errorResponse(405, "Expected the method GET or HEAD", {
  Allow: READING_METHODS,
});

/** The response to a CORS preflight request. */
export const preflightResponse = new HttpResponse(204, {
  Allow: METHODS,
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Methods": METHODS,
  "Access-Control-Allow-Headers": "*",
  "Access-Control-Max-Age": "86400",
});

export const healthResponse = new HttpResponse(
  200,
  { "Content-Type": "application/json;charset=utf-8" },
  JSON.stringify({ status: "ok" }),
);

/** The response to `/robots.txt`. It asks search engines to read no path of this host. */
export const robotsResponse = new HttpResponse(
  200,
  { "Content-Type": "text/plain;charset=utf-8" },
  "User-agent: *\nDisallow: /\n",
);
