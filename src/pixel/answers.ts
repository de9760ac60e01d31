/** What the pixel endpoints answer (decisions §2 and §6). */

/** One transparent pixel, 43 bytes: the very GIF that RudderStack answers. */
const GIF = Buffer.from("R0lGODlhAQABAIAAAAAAAAAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==", "base64");

/** Nobody may keep an answer: a cached pixel is a lost event. */
const NO_STORE = "no-store, no-cache, must-revalidate, private";
const SHARED = {
  "Cache-Control": NO_STORE,
  Expires: "0",
  "Access-Control-Allow-Origin": "*",
};

/** A `Headers` that is made once: an object literal costs twice as much per answer. */
const gif = { headers: new Headers({ "Content-Type": "image/gif", ...SHARED }) };

/** 200: the event is on disk. */
export function pixelAnswer(): Response {
  return new Response(GIF, gif);
}

/** Every answer that is not 2xx: one sentence that never repeats what the caller sent. */
export function errorAnswer(
  status: number,
  message: string,
  headers?: Record<string, string>,
): Response {
  return new Response(JSON.stringify({ message }), {
    status,
    headers: { "Content-Type": "application/json", ...SHARED, ...headers },
  });
}

const METHODS = "GET, OPTIONS";

export function methodAnswer(): Response {
  return errorAnswer(405, "Expected the method GET", { Allow: METHODS });
}

/** 204 to a browser that asks before it sends a GET with headers of its own. */
export function preflightAnswer(): Response {
  return new Response(null, {
    status: 204,
    headers: {
      Allow: METHODS,
      "Access-Control-Allow-Origin": "*",
      "Access-Control-Allow-Methods": METHODS,
      "Access-Control-Allow-Headers": "*",
      "Access-Control-Max-Age": "86400",
    },
  });
}
