import { gunzipSync } from "node:zlib";

/** A request that an SDK sent, and the answer to it. */
export interface SeenRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  /** The body without its content coding; undefined when it is no JSON. */
  body: any;
  status: number;
  answer: string;
}

/**
 * Decides about a request: returns a response instead of the server's, or undefined. `forward`
 * sends the request to the server. `count` is the number of requests before it.
 */
type Decision = (
  request: SeenRequest,
  count: number,
  forward: () => Promise<Response>,
) => Promise<Response | undefined> | undefined;

export interface Gate {
  address: string;
  /** Requests with events that were answered. */
  seen: SeenRequest[];
  /** Requests for the SDK's configuration that were answered. */
  configurations: SeenRequest[];
  stop(): Promise<void>;
}

/**
 * Starts an HTTP server between a client of an SDK and the server: it records the requests and
 * answers, and passes both on as they are. `decide` may answer a request with events in the
 * server's stead; the header Retry-After of any answer becomes at most one second, so that tests
 * need not wait.
 */
export function startGate(upstream: string, decide: Decision = () => undefined): Gate {
  const seen: SeenRequest[] = [];
  const configurations: SeenRequest[] = [];
  let count = 0;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 120,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      const sent = Buffer.from(await request.arrayBuffer());
      const one: SeenRequest = {
        method: request.method,
        path: pathname + search,
        headers: Object.fromEntries(request.headers),
        body: jsonOf(sent, request.headers.get("content-encoding")),
        status: 0,
        answer: "",
      };
      const hasEvents = request.method === "POST";
      const forward = () =>
        fetch(upstream + one.path, {
          method: request.method,
          headers: request.headers,
          ...(sent.length > 0 && { body: sent }),
        });
      const decided = hasEvents ? await decide(one, count++, forward) : undefined;
      // An SDK may still repeat a request of an earlier test while the server is restarted.
      const away = () => new Response("The server is away", { status: 502 });
      const response = decided ?? (await forward().catch(away));
      one.status = response.status;
      one.answer = await response.text();
      if (hasEvents) seen.push(one);
      if (request.method === "GET") configurations.push(one);
      const headers = new Headers(response.headers);
      if (headers.has("retry-after")) headers.set("retry-after", "1");
      const hasBody = response.status !== 204;
      return new Response(hasBody ? one.answer : null, { status: response.status, headers });
    },
  });
  return {
    address: `http://127.0.0.1:${server.port}`,
    seen,
    configurations,
    stop: () => server.stop(true),
  };
}

function jsonOf(body: Buffer, coding: string | null): unknown {
  try {
    return JSON.parse((coding === "gzip" ? gunzipSync(body) : body).toString());
  } catch {
    return undefined;
  }
}
