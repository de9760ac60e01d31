import http from "node:http";
import { Elysia } from "elysia";
import type { Source } from "../catalog/model.ts";
import { StartError } from "../errors.ts";
import { inspectQuery } from "../event/inspect.ts";
import type { PixelRecord } from "../event/record.ts";
import {
  HTTP_HEAD_BYTES_MAX,
  IDLE_CONNECTION_SECONDS_MAX,
  PIXEL_TARGET_BYTES_MAX,
} from "../limits.ts";
import { LogUnavailable, type LogWriter } from "../log/event-log.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { createRateLimit } from "../rate-limit.ts";
import { errorAnswer, methodAnswer, pixelAnswer, preflightAnswer } from "./answers.ts";
import { createClientAddress } from "./client-address.ts";
import { createMessageId } from "./message-id.ts";
import { createCount } from "./metrics.ts";

const PIXEL_PATHS = ["/pixel/v1/page", "/pixel/v1/track"];
const PATHS = [...PIXEL_PATHS, "/health", "/robots.txt"];

export interface PixelParts {
  /** The source of a write key, enabled or not. */
  source(writeKey: string): Source | undefined;
  log: LogWriter<PixelRecord>;
  /** CIDRs of proxies whose `X-Forwarded-For` is believed. */
  trustedProxies: readonly string[];
  /** Whether events carry `request_ip`. */
  recordClientAddress: boolean;
  /** Pixels per second and source beyond which 429 is answered; 0 or absent is no limit. */
  pixelsPerSecondMax?: number;
  logger: Logger;
  metrics?: Metrics;
}

const STOP_POLL_MS = 5;

export interface PixelListener {
  /** Listens and returns the address as a URL; port 0 takes a free one. */
  start(options: { host: string; port: number; reusePort?: boolean }): string;
  /** Takes no more connections and waits for the answers under way. */
  stop(): Promise<void>;
}

/** The data plane's listener: admit, append, answer (decisions §6). */
export function createPixelListener(parts: PixelParts): PixelListener {
  const clientAddress = createClientAddress(parts.trustedProxies);
  const count = createCount(parts.metrics);
  const takePixel = createRateLimit(parts.pixelsPerSecondMax ?? 0);

  function accept(type: "page" | "track", request: Request): Response | Promise<Response> {
    const receivedAt = Date.now();
    // A string as the server made it: the query is never parsed into objects.
    const url = request.url;
    if (!hasOneHost(url, request.headers.get("host"))) {
      return refuse(400, "Expected exactly one valid Host header");
    }
    const path = url.indexOf("/", "https://".length);
    if (url.length - path > PIXEL_TARGET_BYTES_MAX) {
      return refuse(414, `Expected a URL of at most ${PIXEL_TARGET_BYTES_MAX} bytes`);
    }
    const mark = url.indexOf("?", path);
    const query = mark < 0 ? "" : url.slice(mark + 1);
    const { problem, writeKey } = inspectQuery(query, type);
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

    return parts.log
      .append({
        type,
        receivedAt,
        sourceId: source.id,
        clientAddress: parts.recordClientAddress ? addressOf(request) : "",
        messageId: createMessageId(),
        query,
      })
      .then(stored, notStored);
  }

  function stored(): Response {
    count(200);
    return pixelAnswer();
  }

  function notStored(err: unknown): Response {
    // The log says once that the disk fails; a line for each event would fill it further.
    if (!(err instanceof LogUnavailable)) {
      parts.logger.error({ err }, "The event log did not take an event");
    }
    return refuse(503, "The event could not be stored, try again later", { "Retry-After": "1" });
  }

  function refuse(status: number, message: string, headers?: Record<string, string>): Response {
    count(status);
    return errorAnswer(status, message, headers);
  }

  function addressOf(request: Request): string {
    const peer = app.server?.requestIP(request)?.address ?? "";
    return clientAddress(peer, () => request.headers.get("x-forwarded-for"));
  }

  // `({ request })` and nothing else: Elysia parses the query as soon as a handler could use it.
  const app = new Elysia({
    serve: { development: false },
    // Hosts may be shorter than the four characters that Elysia expects.
    handler: { standardHostname: false },
  })
    .get("/pixel/v1/page", ({ request }) => accept("page", request))
    .get("/pixel/v1/track", ({ request }) => accept("track", request))
    .get("/health", () => Response.json({ status: "ok" }))
    .get("/robots.txt", () => new Response("User-agent: *\nDisallow: /\n"));
  for (const path of PATHS) app.options(path, preflightAnswer);
  // A GET handler would serve HEAD too, and an event be kept that nobody sent.
  for (const path of PIXEL_PATHS) app.head(path, methodAnswer);
  app.onError(({ code, error, request }) => {
    if (code === "NOT_FOUND") {
      return isKnown(request.url) ? methodAnswer() : errorAnswer(404, "Not found");
    }
    parts.logger.error({ err: error }, "A pixel request failed");
    return refuse(500, "Internal error");
  });

  return {
    start({ host, port, reusePort }) {
      // Above this Bun answers a bare 431; our own 414 comes long before.
      Object.assign(http, { maxHeaderSize: HTTP_HEAD_BYTES_MAX });
      try {
        app.listen({
          hostname: host,
          port,
          reusePort: reusePort ?? false,
          idleTimeout: IDLE_CONNECTION_SECONDS_MAX,
        });
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new StartError(`Cannot listen on ${host} port ${port}: ${reason}`);
      }
      const name = host.includes(":") ? `[${host}]` : host;
      return `http://${name}:${app.server?.port}`;
    },
    async stop() {
      const server = app.server;
      void server?.stop();
      // The answers under way, then the connections that a browser keeps open for nothing.
      while (server !== null && server.pendingRequests > 0) await Bun.sleep(STOP_POLL_MS);
      await server?.stop(true);
    },
  };
}

/**
 * RFC 9112 §3.2. Bun joins several hosts with a comma, and makes no absolute URL of a host that is
 * missing or no host.
 */
function hasOneHost(url: string, host: string | null): boolean {
  return host !== null && !host.includes(",") && url.startsWith("http");
}

/** Whether a URL has a path that we serve, by another method then. */
function isKnown(url: string): boolean {
  const path = url.slice(url.indexOf("/", "https://".length)).split("?", 1)[0]!;
  return PATHS.includes(path) || PATHS.includes(path.replace(/\/$/, ""));
}
