import { TokenBuckets } from "../concurrency/rate-limiter.ts";
import type { HttpExchange, RefusedRequest } from "../http/exchange.ts";
import type { ListeningSocket } from "../http/listening-socket.ts";
import type { HttpResponse } from "../http/response.ts";
import { type HttpServer, type HttpServerOptions, serveHttp } from "../http/server.ts";
import { LogUnavailable } from "../log/event-log.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import {
  HTTP_BODY_BYTES_MAX,
  HTTP_HEAD_BYTES_MAX,
  HTTP_HEADERS_MAX,
  SDK_BODY_BYTES_MAX,
} from "../settings/limits.ts";
import { createClientAddresses } from "./client-address.ts";
import { createFlushResponses } from "./flush-responses.ts";
import type { ChangeableIngestSettings, IngestOutcomes, IngestSettings } from "./messages.ts";
import {
  createEvictionCounter,
  createHandshakeCounter,
  createSdkEventCounter,
  createSdkStatusCounter,
  createStatusCounter,
  registerConnectionGauge,
} from "./metrics.ts";
import { createPixelEndpoint, type PixelEndpointOptions } from "./pixel/endpoint.ts";
import {
  errorResponse,
  healthResponse,
  pixelResponse,
  preflightResponse,
  readOnlyResponse,
  robotsResponse,
  wrongMethodResponse,
} from "./responses.ts";
import type { SdkEndpointOptions, TakenEvents } from "./sdk/endpoint.ts";
import { sdkEndpoints } from "./sdk/paths.ts";
import { sdkErrorResponse, successResponse } from "./sdk/responses.ts";
import { createSdkRoutes, type ExchangeHandler } from "./sdk/routes.ts";

export interface IngestListenerOptions
  extends Pick<HttpServerOptions, "connectionsMax" | "connectionsPerNetworkMax" | "tls">,
    Pick<IngestSettings, "eventsPerSecondMax" | "trustedProxies" | "publicUrl">,
    Pick<PixelEndpointOptions, "source" | "recordClientAddress"> {
  log: PixelEndpointOptions["log"] & SdkEndpointOptions["log"];
  logger: Logger;
  metrics: Metrics;
  /** Numbers of events that the log stored and that it refused. The listener increases both. */
  outcomes: IngestOutcomes;
  /** Number of stored events that will be delivered, by source id. The listener increases it. */
  received: Map<string, number>;
}

/**
 * Creates the HTTP listener that receives pixels (events sent as GET requests) and events of SDKs.
 * It passes each request to the endpoint for its path, and responds to requests for unknown paths.
 */
export function createIngestListener(options: IngestListenerOptions) {
  const { logger, metrics, outcomes, received } = options;
  const clients = createClientAddresses(options.trustedProxies);
  const count = createStatusCounter(metrics);
  const countSdk = createSdkStatusCounter(metrics);
  const countSdkEvents = createSdkEventCounter(metrics);
  const rate = new TokenBuckets({ perSecond: options.eventsPerSecondMax });
  let server: HttpServer | undefined;
  let { connectionsPerNetworkMax, tls } = options;
  registerConnectionGauge(metrics, () => server?.connections() ?? 0);

  function refuse(status: number, message: string, headers?: Record<string, string>): HttpResponse {
    count(status);
    return errorResponse(status, message, headers);
  }

  const refuseSdk: SdkEndpointOptions["refuse"] = (origin, status, message, headers, reason) => {
    countSdk(status, reason);
    return sdkErrorResponse(origin, status, message, headers);
  };

  function noteStored(sourceId: string, events: number): void {
    outcomes.stored += events;
    received.set(sourceId, (received.get(sourceId) ?? 0) + events);
  }

  function noteFailed(err: unknown, sourceId: string, good: number, refused = 0): void {
    // The event log reports a failed disk once. A log line for each event would fill the disk
    // further.
    if (!(err instanceof LogUnavailable)) logger.error({ err }, "event log refused an event");
    outcomes.refused += good;
    // The client will send the events again. They must not count twice towards its rate.
    rate.give(sourceId, good + refused);
  }

  const shared = { ...options, clients, rate };
  const pixel = createPixelEndpoint({
    ...shared,
    refuse,
    respondWhenStored: createFlushResponses<string>({
      stored(sourceId) {
        count(200);
        noteStored(sourceId, 1);
        return pixelResponse;
      },
      failed(err, sourceId) {
        noteFailed(err, sourceId, 1);
        return refuse(503, "The event could not be stored, try again later", RETRY_SOON);
      },
    }),
  });
  const sdkHandlerAt = createSdkRoutes({
    ...shared,
    refuse: refuseSdk,
    respondWhenStored: createFlushResponses<TakenEvents>({
      stored({ sourceId, origin, good, refused }) {
        countSdk(200);
        countSdkEvents(good, refused);
        noteStored(sourceId, good);
        return successResponse(origin);
      },
      failed(err, { sourceId, origin, good, refused }) {
        noteFailed(err, sourceId, good, refused);
        return refuseSdk(
          origin,
          503,
          "The events could not be stored, try again later",
          RETRY_SOON,
        );
      },
    }),
  });

  const takes = (type: "page" | "track") => (exchange: HttpExchange) =>
    isPixel(exchange) ? pixel(type, exchange) : wrongMethod(exchange);
  const endpoints = new Map<string, ExchangeHandler>([
    ["/pixel/v1/page", takes("page")],
    ["/pixel/v1/page/", takes("page")],
    ["/pixel/v1/track", takes("track")],
    ["/pixel/v1/track/", takes("track")],
    ["/health", shows(healthResponse)],
    ["/robots.txt", shows(robotsResponse)],
  ]);
  const endpointAt = (path: string) => endpoints.get(path) ?? sdkHandlerAt(path);

  function handle(exchange: HttpExchange): void {
    try {
      const endpoint = endpointAt(exchange.path);
      const response = endpoint === undefined ? notFound() : endpoint(exchange);
      if (response !== undefined) exchange.respond(response);
    } catch (err) {
      logger.error({ err }, "ingest request failed");
      const refuse = refuseAs(exchange);
      exchange.respond(refuse(500, "Internal error"));
    }
  }

  /**
   * Returns a function that makes error responses to a request, and counts each as a response to a
   * pixel or an SDK, by the request's path. If `request` is undefined, it counts nothing.
   */
  function refuseAs(request: RefusedRequest | undefined): Refuse {
    if (request === undefined) return errorResponse;
    if (sdkHandlerAt(request.path) === undefined) return refuse;
    return refuseSdk.bind(undefined, request.header("origin"));
  }

  /** Makes the response to a request that the HTTP server refuses before it is handled. */
  function refusedResponse(status: number, request: RefusedRequest | undefined): HttpResponse {
    const isTooLarge = status === 413 && request !== undefined;
    if (isTooLarge && endpointAt(request.path) === undefined) return notFound();
    const refuse = refuseAs(request);
    const row = refusals[status];
    if (row !== undefined) return refuse(status, ...row);
    return refuse(
      400,
      "Expected an HTTP/1.1 request with exactly one valid Host header and lines that end with CRLF",
    );
  }

  return {
    /** Starts to accept connections from `socket`. The listener's `stop` closes the socket. */
    start(socket: ListeningSocket) {
      server = serveHttp({
        socket,
        handle,
        refusal: refusedResponse,
        bodyBytesMax: (path) => (sdkEndpoints.has(path) ? SDK_BODY_BYTES_MAX : HTTP_BODY_BYTES_MAX),
        networkOf: clients.networkOf,
        connectionsMax: options.connectionsMax,
        connectionsPerNetworkMax,
        tls,
        onEvicted: createEvictionCounter(metrics, logger),
        onFailedHandshake: createHandshakeCounter(metrics),
        onFault: (err) => logger.error({ err }, "connection met a broken invariant and is closed"),
      });
    },
    /** Changes limits of the listener, and its certificate if it has one. */
    configure(settings: Omit<ChangeableIngestSettings, "logLevel">) {
      rate.setRate({ perSecond: settings.eventsPerSecondMax });
      connectionsPerNetworkMax = settings.connectionsPerNetworkMax;
      server?.setConnectionsPerNetworkMax(connectionsPerNetworkMax);
      if (settings.tls === undefined || Bun.deepEquals(settings.tls, tls)) return;
      tls = settings.tls;
      server?.setTls(tls);
    },
    /** Asks clients to close their connections. New connections are still accepted. */
    drain: async () => server?.drain(),
    /** Stops accepting connections. Resolves when all requests were responded to. */
    stop: async () => server?.stop(),
  };
}

/**
 * Whether a request's method is allowed for a pixel. POST is accepted because
 * `navigator.sendBeacon` uses it; the body is ignored.
 */
const isPixel = ({ method }: HttpExchange) => method === "GET" || method === "POST";

const isRead = ({ method }: HttpExchange) => method === "GET" || method === "HEAD";

/** Returns an endpoint that responds to each GET and HEAD request with `response`. */
const shows = (response: HttpResponse) => (exchange: HttpExchange) =>
  isRead(exchange) ? response : wrongMethod(exchange, readOnlyResponse);

/**
 * Message for unknown paths. It mentions the API and the console, which are on another port,
 * because the two ports are easily confused.
 */
const NOT_FOUND =
  "There is nothing at this path: expected /pixel/v1/page, /pixel/v1/track, /v1/batch or another path of SDKs; the API and the console have a port of their own";

const notFound = () => errorResponse(404, NOT_FOUND);

/** Function that returns an error response. The body of the response is one sentence, `message`. */
type Refuse = (status: number, message: string, headers?: Record<string, string>) => HttpResponse;

/** Headers of a response that asks the client to try again. */
const RETRY_SOON = { "Retry-After": "1" };

const wrongMethod = ({ method }: HttpExchange, response = wrongMethodResponse) =>
  method === "OPTIONS" ? preflightResponse : response;

/**
 * Message and further headers of the response to a request that the HTTP server refuses; the key is
 * the status of the refusal. A refusal with a status that is not listed is sent as status 400.
 */
const refusals: Record<number, [message: string, headers?: Record<string, string>]> = {
  413: [
    `Expected a body of at most ${HTTP_BODY_BYTES_MAX} bytes, or of ${SDK_BODY_BYTES_MAX} for events of SDKs`,
  ],
  431: [`Expected a head of at most ${HTTP_HEAD_BYTES_MAX} bytes and ${HTTP_HEADERS_MAX} headers`],
  503: ["Too many requests are incomplete", RETRY_SOON],
  505: ["Expected a request line that ends with HTTP/1.1"],
};
