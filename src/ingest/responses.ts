import { HttpResponse } from "../http/response.ts";

/** One transparent pixel, 43 bytes, the same GIF as RudderStack's. */
const GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAAAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==", "base64");

/** Forbids every cache: a cached pixel is a lost event. */
const NO_STORE = "no-store, no-cache, must-revalidate, private";
const SHARED = {
  "Cache-Control": NO_STORE,
  Expires: "0",
  "Access-Control-Allow-Origin": "*",
  // A page that requires consent of embedded resources (COEP) may embed a pixel, and time it.
  "Cross-Origin-Resource-Policy": "cross-origin",
  "Timing-Allow-Origin": "*",
};

/** 200: the event is on disk. */
export const pixelResponse = new HttpResponse(200, { "Content-Type": "image/gif", ...SHARED }, GIF);

/** A response that is not 2xx: one sentence, which never repeats the caller's input. */
export function errorResponse(
  status: number,
  message: string,
  headers?: Record<string, string>,
): HttpResponse {
  return new HttpResponse(
    status,
    { "Content-Type": "application/json", ...SHARED, ...headers },
    JSON.stringify({ message }),
  );
}

const METHODS = "GET, POST, OPTIONS";

export const wrongMethodResponse = errorResponse(405, "Expected the method GET or POST", {
  Allow: METHODS,
});

const READING_METHODS = "GET, HEAD, OPTIONS";

export const readOnlyResponse = errorResponse(405, "Expected the method GET or HEAD", {
  Allow: READING_METHODS,
});

/** 204 to a CORS preflight. */
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

/** Keeps search engines away from every path. */
export const robotsResponse = new HttpResponse(
  200,
  { "Content-Type": "text/plain;charset=utf-8" },
  "User-agent: *\nDisallow: /\n",
);
