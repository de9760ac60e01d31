import http from "node:http";
import { Elysia } from "elysia";
import { Histogram } from "prom-client";
import { assert } from "../assert.ts";
import { TimeSlicer } from "../concurrency/time-slicer.ts";
import type { ListeningSocket } from "../http/listening-socket.ts";
import { httpUrl } from "../http/url.ts";
import { LoopLateness } from "../observe/loop-lateness.ts";
import type { TlsKeys } from "../settings/files/tls-files.ts";
import {
  DRAIN_MS_MAX,
  HTTP_HEAD_BYTES_MAX,
  IDLE_CONNECTION_SECONDS_MAX,
} from "../settings/limits.ts";
import { WorkspaceConfigs } from "./config-backend/workspace-configs.ts";
import { consoleResponse } from "./console-files.ts";
import type { ApiDeps } from "./deps.ts";
import { createLimiters, TooManyRequests } from "./limiters.ts";
import { REFUSAL_DELAY_MS } from "./limits.ts";
import { RefusedTokens } from "./refused-tokens.ts";
import type { IncomingRequest } from "./request/admit.ts";
import { handleRequest } from "./request/handle.ts";
import { cloudOnlyMessage } from "./response/cloud-only.ts";
import { errorResponse, internalError, toErrorResponse } from "./response/errors.ts";
import type { Route } from "./route.ts";
import { routes } from "./route-table.ts";
import { alertFacts } from "./routes/alerts/alert-facts.ts";
import { configAnswer, formsOf } from "./routes/resources/destination-config.ts";
import { answerLocally } from "./routes/status/node-status.ts";
import { TailFrames } from "./tail-frames.ts";
import { type ControlPlaneAddress, listenOn, TlsListener } from "./tls/tls-listener.ts";

export type Api = ReturnType<typeof createApi>;

/**
 * Creates the control plane: one HTTP listener that serves the Transformations API, the management
 * API, the console, and the paths for health and metrics.
 */
export function createApi(given: ApiDeps) {
  const deps = {
    ...given,
    limiters: createLimiters(given.requestsPerSecondMax),
    tailFrames: new TailFrames(),
    workspaceConfigs: new WorkspaceConfigs({ ...given, slicer: new TimeSlicer() }),
    tlsListener: new TlsListener(given.onFailedHandshake),
    refusedTokens: new RefusedTokens(
      (refused) => given.catalog.audit.addRefused(refused),
      given.logger,
    ),
  };
  given.catalog.audit.showConfigsWith((type, config) => {
    const forms = formsOf(given, type);
    return forms === undefined ? {} : configAnswer(forms, config, "masked");
  });
  const closing = new AbortController();
  const seconds = requestSeconds(deps);
  const lateness = new LoopLateness();
  const listener = { deps, closing: closing.signal, lateness };
  deps.others?.answerWith((question) => answerLocally(deps, question));

  async function respond(route: Route, incoming: IncomingRequest): Promise<Response> {
    const { method, url } = incoming.request;
    const pathname = pathOf(url);
    // Elysia answers HEAD with the route of GET. The control plane does not allow HEAD.
    if (method !== route.method) return noRouteResponse(incoming.request.headers, pathname);
    const done = seconds.startTimer({ route: route.key });
    const answer = await handleRequest(route, listener, incoming).catch(async (error: unknown) => {
      if (error instanceof TooManyRequests) await Bun.sleep(REFUSAL_DELAY_MS);
      return toErrorResponse(error, pathname, deps.logger);
    });
    done({ status: answer.status });
    return answer;
  }

  const app = new Elysia({
    // Bun's own router decodes parameters differently from Elysia's, so only Elysia's is used.
    systemRouter: false,
    // Without this, Elysia reads a host of one to three characters (`Host: api`) as part of the
    // path.
    handler: { standardHostname: false },
    serve: {
      // Bun's own page for an error that no handler catches shows code and the working directory.
      error: () => internalError("/v2/"),
      idleTimeout: IDLE_CONNECTION_SECONDS_MAX,
      // `readBody` in body.ts bounds the body and answers 413 with a message. Bun's own bound
      // would answer with an empty body.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    },
  });
  app.onRequest(({ request, server }) => {
    if (!deps.tlsListener.isForeign(request, server)) return;
    return errorResponse(pathOf(request.url), 403, "Expected a connection with TLS");
  });
  app.onError(async ({ error, request }) => {
    const pathname = pathOf(request.url);
    const code = error !== null && typeof error === "object" && "code" in error && error.code;
    if (code !== "NOT_FOUND") return toErrorResponse(error, pathname, deps.logger);
    const file = await consoleResponse(request, pathname, deps).catch((failure: unknown) =>
      toErrorResponse(failure, pathname, deps.logger),
    );
    if (file) return file;
    const notFound = noRouteResponse(request.headers, pathname);
    // After a CONNECT request, Bun no longer reads the connection. The next request of a proxy that
    // reuses it would hang.
    if (request.method === "CONNECT") notFound.headers.set("Connection", "close");
    return notFound;
  });
  addRoutes(app, respond);

  let listening: ListeningSocket | undefined;
  return {
    /** The Elysia app without a listener. Tests call `app.handle(request)`. */
    app,
    /** Changes how many requests per second a workspace may send on average; 0 is no limit. */
    setRequestsPerSecondMax: deps.limiters.setRequestsPerSecondMax,
    /** Collects from all nodes the facts by which a workspace's alert rules are evaluated. */
    alertFacts: (workspaceId: string) => alertFacts(deps, workspaceId),
    /**
     * Replaces certificate and key for new connections. Does nothing if the listener has no TLS.
     */
    setTls: (tls: TlsKeys) => deps.tlsListener.setTls(tls),
    /** Returns the listening socket. Undefined before `start`. */
    socket: () => listening,
    /**
     * Starts to listen, and resolves with the URL, such as `http://127.0.0.1:8081`. Port 0 selects
     * a free port. If `address` contains a listening socket, uses it, and `stop` closes it. Rejects
     * with `StartError` if listening fails.
     */
    async start(address: ControlPlaneAddress) {
      // `maxHeaderSize` is writable, although its type says otherwise. Bun reads it when it
      // listens.
      Object.assign(http, { maxHeaderSize: HTTP_HEAD_BYTES_MAX });
      listening = listenOn(app, deps.tlsListener, address);
      const scheme = address.tls === undefined ? "http" : "https";
      return httpUrl(listening.host ?? address.host, listening.port, scheme);
    },
    /**
     * Stops the listener: accepts no new requests, waits up to `DRAIN_MS_MAX` for the requests in
     * flight, and ends live tails (streams of new events).
     */
    async stop() {
      closing.abort();
      lateness.close();
      deps.tlsListener.stop();
      // A client that does not read its answer delays the stop by at most `DRAIN_MS_MAX`.
      await Promise.race([app.server?.stop(), Bun.sleep(DRAIN_MS_MAX)]);
      await app.stop(true);
      await deps.refusedTokens.flush();
    },
  };
}

/**
 * Registers each route under its path and its aliases. `respond` makes the response to each
 * request.
 */
function addRoutes(
  app: Elysia,
  respond: (route: Route, incoming: IncomingRequest) => Promise<Response>,
): void {
  const keys = new Set(paths.map(({ method, path }) => `${method} ${path}`));
  assert(keys.size === paths.length, "A method and a path have one route");
  for (const route of routes) {
    for (const path of [route.path, ...route.aliases]) {
      app.route(
        route.method,
        path.replace(/\{(\w+)\}/g, ":$1"),
        ({ request, params, server }) => respond(route, { request, params, server }),
        { parse: "none" },
      );
    }
  }
}

/**
 * Returns the path of a URL as the client sent it. Does not use `new URL`, which throws for some
 * host names.
 */
function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const end = url.indexOf("?", start);
  return url.slice(start, end < 0 ? undefined : end);
}

/**
 * Makes the response to a request that no route matches: 403 if a RudderStack client requests a
 * product of RudderStack's cloud, 405 if the path exists with other methods, otherwise 404.
 */
function noRouteResponse(headers: Headers, path: string): Response {
  // RudderStack's clients send their token with every request.
  const cloudOnly = headers.has("authorization") ? cloudOnlyMessage(path) : undefined;
  if (cloudOnly !== undefined) return errorResponse(path, 403, cloudOnly);
  const methods = new Set(
    paths.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method),
  );
  if (methods.size === 0) return errorResponse(path, 404, noRouteMessage(path));
  const Allow = [...methods].join(", ");
  const message = `Expected one of the methods ${Allow}, got another`;
  return errorResponse(path, 405, message, { headers: { Allow } });
}

/**
 * Returns the message of a 404 response. If the client probably meant another path, the message
 * suggests it: some RudderStack resources exist only under /v2, and pixel requests belong to the
 * port of the data plane.
 */
function noRouteMessage(path: string): string {
  if (path.startsWith("/pixel/")) {
    return "There is nothing at this path: pixels go to the port of the data plane";
  }
  const other = path.startsWith("/v2/") ? path.slice(3) : `/v2${path}`;
  const similar = paths.find(({ pattern }) => pattern.test(other));
  return `There is nothing at this path${similar ? `, but at ${similar.path}` : ""}`;
}

const consolePage = { method: "GET", path: "/", aliases: [] };
const paths = [...routes, consolePage].flatMap(({ method, path, aliases }) =>
  [path, ...aliases].map((path) => ({
    method,
    path,
    pattern: new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+")}/?$`),
  })),
);

function requestSeconds({ metrics }: ApiDeps) {
  return new Histogram({
    name: "pixelmill_api_request_seconds",
    help: "Time from a control plane request's head to its answer",
    labelNames: ["route", "status"],
    registers: [metrics],
  });
}
