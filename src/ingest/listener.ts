import type { Source } from "../catalog/model.ts";
import { createRateLimiter } from "../concurrency/rate-limiter.ts";
import { inspectQuery } from "../event/inspect.ts";
import type { PixelRecord } from "../event/record.ts";
import type { HttpExchange } from "../http/connection.ts";
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
  PIXEL_TARGET_BYTES_MAX,
} from "../settings/limits.ts";
import { createClientAddresses } from "./client-address.ts";
import type { IngestLog } from "./log/ingest-log.ts";
import { createMessageId } from "./message-id.ts";
import { createEvictionCounter, createStatusCounter, registerConnectionGauge } from "./metrics.ts";
import {
  errorResponse,
  healthResponse,
  pixelResponse,
  preflightResponse,
  readOnlyResponse,
  robotsResponse,
  wrongMethodResponse,
} from "./responses.ts";

export interface IngestListenerOptions
  extends Pick<HttpServerOptions, "connectionsMax" | "connectionsPerNetworkMax"> {
  /** The source of a write key, enabled or not. */
  source(writeKey: string): Source | undefined;
  log: Pick<IngestLog, "append" | "isPartitionedByUser" | "otherLogs">;
  /** CIDRs of proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: readonly string[];
  /** Whether events carry `request_ip`. */
  recordClientAddress: boolean;
  /** Pixels per second and source beyond which 429 is answered; 0 or absent is no limit. */
  pixelsPerSecondMax?: number;
  logger: Logger;
  metrics?: Metrics;
}

export interface IngestListener {
  /** Accepts from this socket, which the listener closes when it stops. */
  start(socket: ListeningSocket): void;
  /** Takes no more connections and waits for the answers under way. */
  stop(): Promise<void>;
}

/**
 * The data plane's listener: admits a pixel, appends its record to the log, and answers once the
 * record is durable.
 */
export function createIngestListener(parts: IngestListenerOptions): IngestListener {
  const clients = createClientAddresses(parts.trustedProxies);
  const count = createStatusCounter(parts.metrics);
  const takePixel = createRateLimiter(parts.pixelsPerSecondMax ?? 0);
  /** Pixels whose records are written together, by the promise that they share. */
  const flushes = new Map<Promise<void>, HttpExchange[]>();
  let server: HttpServer | undefined;
  if (parts.metrics !== undefined) {
    registerConnectionGauge(parts.metrics, () => server?.connections() ?? 0);
  }

  function handle(exchange: HttpExchange): void {
    try {
      const refusal = route(exchange);
      if (refusal !== undefined) exchange.respond(refusal);
    } catch (err) {
      parts.logger.error({ err }, "A pixel request failed");
      exchange.respond(refuse(500, "Internal error"));
    }
  }

  /** Returns the answer; undefined for a pixel whose record is on its way to the disk. */
  function route(exchange: HttpExchange): HttpResponse | undefined {
    switch (exchange.path) {
      case "/pixel/v1/page":
      case "/pixel/v1/page/":
        return isPixel(exchange) ? admit("page", exchange) : otherMethod(exchange);
      case "/pixel/v1/track":
      case "/pixel/v1/track/":
        return isPixel(exchange) ? admit("track", exchange) : otherMethod(exchange);
      case "/health":
        return isRead(exchange) ? healthResponse : otherMethod(exchange, readOnlyResponse);
      case "/robots.txt":
        return isRead(exchange) ? robotsResponse : otherMethod(exchange, readOnlyResponse);
      default:
        return errorResponse(404, nothingHere);
    }
  }

  function admit(type: "page" | "track", exchange: HttpExchange): HttpResponse | undefined {
    const { query } = exchange;
    if (exchange.targetBytes > PIXEL_TARGET_BYTES_MAX) {
      return refuse(414, `Expected a URL of at most ${PIXEL_TARGET_BYTES_MAX} bytes`);
    }
    const { problem, writeKey, user } = inspectQuery(query, type, parts.log.isPartitionedByUser);
    if (problem !== undefined) return refuse(400, problem);
    const source = parts.source(writeKey);
    if (source === undefined) return refuse(401, "Invalid write key");
    if (!source.enabled) return refuse(404, "Source is disabled");
    const waitSeconds = takePixel(source.id);
    if (waitSeconds > 0) {
      return refuse(429, "Expected fewer pixels of this write key, got more than its rate allows", {
        "Retry-After": String(waitSeconds),
      });
    }

    const record: PixelRecord = {
      type,
      receivedAt: Date.now(),
      sourceId: source.id,
      clientAddress: parts.recordClientAddress ? clients.of(exchange) : "",
      messageId: createMessageId(),
      query,
      after: parts.log.otherLogs?.(),
    };
    answerWhen(parts.log.append(record, user), exchange);
    return undefined;
  }

  /**
   * Answers when the record is durable. All records of one flush share the log's promise, so they
   * share one callback here.
   */
  function answerWhen(stored: Promise<void>, exchange: HttpExchange): void {
    const known = flushes.get(stored);
    if (known !== undefined) {
      known.push(exchange);
      return;
    }
    const pixels = [exchange];
    flushes.set(stored, pixels);
    const settle = (answer: (pixel: HttpExchange) => void) => {
      flushes.delete(stored);
      pixels.forEach(answer);
    };
    stored.then(
      () => settle(accept),
      (err) => settle((pixel) => pixel.respond(notStored(err))),
    );
  }

  function accept(pixel: HttpExchange): void {
    count(200);
    pixel.respond(pixelResponse);
  }

  function notStored(err: unknown): HttpResponse {
    // The log itself reports once that the disk fails; a line for each event would fill the disk
    // further.
    if (!(err instanceof LogUnavailable)) {
      parts.logger.error({ err }, "The event log did not take an event");
    }
    return refuse(503, "The event could not be stored, try again later", { "Retry-After": "1" });
  }

  function refuse(status: number, message: string, headers?: Record<string, string>): HttpResponse {
    count(status);
    return errorResponse(status, message, headers);
  }

  return {
    start(socket) {
      const { connectionsMax, connectionsPerNetworkMax, metrics, logger } = parts;
      server = serveHttp({
        ...{ socket, handle, refusal, networkOf: clients.networkOf },
        ...(connectionsMax !== undefined && { connectionsMax }),
        ...(connectionsPerNetworkMax !== undefined && { connectionsPerNetworkMax }),
        onEvicted: createEvictionCounter(metrics, logger),
      });
    },
    async stop() {
      await server?.stop();
    },
  };
}

/** A POST counts as a pixel because `navigator.sendBeacon` sends POST; the body is ignored. */
const isPixel = ({ method }: HttpExchange) => method === "GET" || method === "POST";

const isRead = ({ method }: HttpExchange) => method === "GET" || method === "HEAD";

/** Two ports are easily confused: the API and the console are not here. */
const nothingHere =
  "There is nothing at this path: expected /pixel/v1/page or /pixel/v1/track; the API and the console have a port of their own";

const otherMethod = ({ method }: HttpExchange, refusal = wrongMethodResponse) =>
  method === "OPTIONS" ? preflightResponse : refusal;

function refusal(status: number): HttpResponse {
  switch (status) {
    case 431:
      return errorResponse(
        431,
        `Expected a head of at most ${HTTP_HEAD_BYTES_MAX} bytes and ${HTTP_HEADERS_MAX} headers`,
      );
    case 413:
      return errorResponse(413, `Expected a body of at most ${HTTP_BODY_BYTES_MAX} bytes`);
    case 503:
      return errorResponse(503, "Too many requests have come in part", { "Retry-After": "1" });
    case 505:
      return errorResponse(505, "Expected a request line that ends with HTTP/1.1");
    default:
      return errorResponse(
        400,
        "Expected an HTTP/1.1 request with exactly one valid Host header and lines that end with CRLF",
      );
  }
}
