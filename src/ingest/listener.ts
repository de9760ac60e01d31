import type { Source } from "../catalog/model.ts";
import { createRateLimiter } from "../concurrency/rate-limiter.ts";
import { inspectQuery } from "../event/inspect.ts";
import type { PixelRecord } from "../event/record.ts";
import type { Answer } from "../http/answer.ts";
import type { Exchange } from "../http/connection.ts";
import type { ListeningSocket } from "../http/listening-socket.ts";
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
import {
  errorAnswer,
  healthAnswer,
  methodAnswer,
  pixelAnswer,
  preflightAnswer,
  readOnlyAnswer,
  robotsAnswer,
} from "./answers.ts";
import { createClientAddresses } from "./client-address.ts";
import { createMessageId } from "./message-id.ts";
import { countEnded, createCount, showConnections } from "./metrics.ts";
import type { PixelLog } from "./pixel-log.ts";

export interface PixelParts
  extends Pick<HttpServerOptions, "connectionsMax" | "connectionsPerNetworkMax"> {
  /** The source of a write key, enabled or not. */
  source(writeKey: string): Source | undefined;
  log: Pick<PixelLog, "append" | "byUser" | "otherLogs">;
  /** CIDRs of proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: readonly string[];
  /** Whether events carry `request_ip`. */
  recordClientAddress: boolean;
  /** Pixels per second and source beyond which 429 is answered; 0 or absent is no limit. */
  pixelsPerSecondMax?: number;
  logger: Logger;
  metrics?: Metrics;
}

export interface PixelListener {
  /** Accepts from this socket, which the listener closes when it stops. */
  start(socket: ListeningSocket): void;
  /** Takes no more connections and waits for the answers under way. */
  stop(): Promise<void>;
}

/**
 * The data plane's listener: admits a pixel, appends its record to the log, and answers once the
 * record is durable.
 */
export function createPixelListener(parts: PixelParts): PixelListener {
  const clients = createClientAddresses(parts.trustedProxies);
  const count = createCount(parts.metrics);
  const takePixel = createRateLimiter(parts.pixelsPerSecondMax ?? 0);
  /** Pixels whose records are written together, by the promise that they share. */
  const flushes = new Map<Promise<void>, Exchange[]>();
  let server: HttpServer | undefined;
  if (parts.metrics !== undefined) {
    showConnections(parts.metrics, () => server?.connections() ?? 0);
  }

  function handle(exchange: Exchange): void {
    try {
      const refusal = route(exchange);
      if (refusal !== undefined) exchange.answer(refusal);
    } catch (err) {
      parts.logger.error({ err }, "A pixel request failed");
      exchange.answer(refuse(500, "Internal error"));
    }
  }

  /** Returns the answer; undefined for a pixel whose record is on its way to the disk. */
  function route(exchange: Exchange): Answer | undefined {
    switch (exchange.path) {
      case "/pixel/v1/page":
      case "/pixel/v1/page/":
        return isPixel(exchange) ? admit("page", exchange) : otherMethod(exchange);
      case "/pixel/v1/track":
      case "/pixel/v1/track/":
        return isPixel(exchange) ? admit("track", exchange) : otherMethod(exchange);
      case "/health":
        return isRead(exchange) ? healthAnswer : otherMethod(exchange, readOnlyAnswer);
      case "/robots.txt":
        return isRead(exchange) ? robotsAnswer : otherMethod(exchange, readOnlyAnswer);
      default:
        return errorAnswer(404, nothingHere);
    }
  }

  function admit(type: "page" | "track", exchange: Exchange): Answer | undefined {
    const { query } = exchange;
    if (exchange.targetBytes > PIXEL_TARGET_BYTES_MAX) {
      return refuse(414, `Expected a URL of at most ${PIXEL_TARGET_BYTES_MAX} bytes`);
    }
    const { problem, writeKey, user } = inspectQuery(query, type, parts.log.byUser);
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
  function answerWhen(stored: Promise<void>, exchange: Exchange): void {
    const known = flushes.get(stored);
    if (known !== undefined) {
      known.push(exchange);
      return;
    }
    const pixels = [exchange];
    flushes.set(stored, pixels);
    const settle = (answer: (pixel: Exchange) => void) => {
      flushes.delete(stored);
      pixels.forEach(answer);
    };
    stored.then(
      () => settle(accept),
      (err) => settle((pixel) => pixel.answer(notStored(err))),
    );
  }

  function accept(pixel: Exchange): void {
    count(200);
    pixel.answer(pixelAnswer);
  }

  function notStored(err: unknown): Answer {
    // The log itself reports once that the disk fails; a line for each event would fill the disk
    // further.
    if (!(err instanceof LogUnavailable)) {
      parts.logger.error({ err }, "The event log did not take an event");
    }
    return refuse(503, "The event could not be stored, try again later", { "Retry-After": "1" });
  }

  function refuse(status: number, message: string, headers?: Record<string, string>): Answer {
    count(status);
    return errorAnswer(status, message, headers);
  }

  return {
    start(socket) {
      const { connectionsMax, connectionsPerNetworkMax, metrics, logger } = parts;
      server = serveHttp({
        ...{ socket, handle, refused, networkOf: clients.networkOf },
        ...(connectionsMax !== undefined && { connectionsMax }),
        ...(connectionsPerNetworkMax !== undefined && { connectionsPerNetworkMax }),
        onEnded: countEnded(metrics, logger),
      });
    },
    async stop() {
      await server?.stop();
    },
  };
}

/** A POST counts as a pixel because `navigator.sendBeacon` sends POST; the body is ignored. */
const isPixel = ({ method }: Exchange) => method === "GET" || method === "POST";

const isRead = ({ method }: Exchange) => method === "GET" || method === "HEAD";

/** Two ports are easily confused: the API and the console are not here. */
const nothingHere =
  "There is nothing at this path: expected /pixel/v1/page or /pixel/v1/track; the API and the console have a port of their own";

const otherMethod = ({ method }: Exchange, refusal = methodAnswer) =>
  method === "OPTIONS" ? preflightAnswer : refusal;

function refused(status: number): Answer {
  switch (status) {
    case 431:
      return errorAnswer(
        431,
        `Expected a head of at most ${HTTP_HEAD_BYTES_MAX} bytes and ${HTTP_HEADERS_MAX} headers`,
      );
    case 413:
      return errorAnswer(413, `Expected a body of at most ${HTTP_BODY_BYTES_MAX} bytes`);
    case 503:
      return errorAnswer(503, "Too many requests have come in part", { "Retry-After": "1" });
    case 505:
      return errorAnswer(505, "Expected a request line that ends with HTTP/1.1");
    default:
      return errorAnswer(
        400,
        "Expected an HTTP/1.1 request with exactly one valid Host header and lines that end with CRLF",
      );
  }
}
