import { HttpResponse } from "../http/response.ts";

/** What the data plane answers. */

/** One transparent pixel, 43 bytes: the very GIF that RudderStack answers. */
const GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAAAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==", "base64");

/** Nobody may keep an answer: a cached pixel is a lost event. */
const NO_STORE = "no-store, no-cache, must-revalidate, private";
const SHARED = {
  "Cache-Control": NO_STORE,
  Expires: "0",
  "Access-Control-Allow-Origin": "*",
  // Pages that embed only what agrees to it (COEP) may embed a pixel, and any may time it.
  "Cross-Origin-Resource-Policy": "cross-origin",
  "Timing-Allow-Origin": "*",
};

/** 200: the event is on disk. */
export const pixelResponse = new HttpResponse(200, { "Content-Type": "image/gif", ...SHARED }, GIF);

/** Every answer that is not 2xx: one sentence that never repeats what the caller sent. */
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

/** 204 to a browser that asks before it sends a request with headers of its own. */
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

/** Nothing here is for search engines. */
export const robotsResponse = new HttpResponse(
  200,
  { "Content-Type": "text/plain;charset=utf-8" },
  "User-agent: *\nDisallow: /\n",
);
