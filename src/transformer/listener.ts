import { Counter } from "prom-client";
import type { InvariantError } from "../assert.ts";
import { OneTimeEvent } from "../concurrency/one-time-event.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { type ListeningSocket, openListeningSocket } from "../http/listening-socket.ts";
import type { HttpResponse } from "../http/response.ts";
import { serveHttp } from "../http/server.ts";
import { httpUrl } from "../http/url.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { FailedHandshakes } from "../observe/tls-metrics.ts";
import type { TlsKeys } from "../settings/files/tls-files.ts";
import type { Config } from "../settings/keys.ts";
import { BODY_BYTES_MAX, DRAIN_MS_MAX } from "../settings/limits.ts";
import { isFromPage, secretCheck } from "./guard.ts";
import {
  TRANSFORMER_BODY_BYTES_MAX,
  TRANSFORMER_CONNECTIONS_MAX,
  TRANSFORMER_REQUEST_MS_MAX,
} from "./limits.ts";
import type { Handler } from "./requests.ts";
import { type AgainReason, againResponse, textResponse } from "./responses.ts";
import { CUSTOM_TRANSFORM, type RouteParts, transformerRoutes } from "./routes.ts";

export interface TransformerOptions extends RouteParts {
  host: string;
  port: number;
  /**
   * Listening socket that this process took over from the running server, or that systemd passed to
   * it. If undefined, the listener opens a socket at `host` and `port`.
   */
  socket?: ListeningSocket | undefined;
  /** Secret that each request must have; undefined when requests need none. */
  secret: string | undefined;
  /** Certificate and key; without them the listener speaks HTTP. */
  tls?: TlsKeys | undefined;
  metrics: Metrics;
  /** Called when the TLS handshake of a client has failed, or has ended before it was complete. */
  onFailedHandshake(): void;
  /** Value that tests use instead of `TRANSFORMER_REQUEST_MS_MAX`. */
  requestMsMax?: number;
}

interface TransformerParts extends Pick<RouteParts, "catalog" | "sandbox"> {
  /**
   * Listening socket for rudder-server that this process took over from the running server, or that
   * systemd passed to it; absent if there is none.
   */
  sockets: { transformer?: ListeningSocket | undefined };
  /**
   * The listener's certificate and private key. `onChange` registers a function that gets the new
   * ones whenever their files have changed.
   */
  certificates: {
    transformer: { keys(): TlsKeys | undefined; onChange(use: (keys: TlsKeys) => void): void };
  };
  failedHandshakes: FailedHandshakes;
}

/** Starts the listener for rudder-server, if the settings name its port. */
export function openTransformer(
  { config, logger, metrics }: { config: Config; logger: Logger; metrics: Metrics },
  { catalog, sandbox, ...parts }: TransformerParts,
): Transformer | undefined {
  const port = config["transformer.port"];
  if (port === undefined) return undefined;
  const transformer = startTransformer({
    catalog,
    sandbox,
    socket: parts.sockets.transformer,
    host: config["transformer.host"],
    port,
    secret: config["transformer.secret"],
    tls: parts.certificates.transformer.keys(),
    logger,
    metrics,
    onFailedHandshake: () => parts.failedHandshakes.inc({ plane: "transformer" }),
  });
  parts.certificates.transformer.onChange(transformer.setTls);
  return transformer;
}

/** The listener that imitates RudderStack's transformer for rudder-server. */
export type Transformer = ReturnType<typeof startTransformer>;

const NO_SECRET = "Expected the secret of the setting transformer.secret";
const OPEN_TO_NETWORK =
  "whoever reaches the transformer listener can run and read published code, since there is no transformer.secret";

/**
 * Starts the listener for rudder-server. Throws `StartError` when it cannot listen on its address.
 */
export function startTransformer(options: TransformerOptions) {
  const { host, logger } = options;
  const count = createRequestCounter(options.metrics);
  const stopping = new OneTimeEvent<HttpResponse>();
  const handlers = transformerRoutes(options);
  const hasSecret = secretCheck(options.secret);
  const isLoopback = /^(127\.|localhost$|::1$)/.test(options.socket?.host ?? host);

  function handle(exchange: HttpExchange): void {
    const { method, path } = exchange;
    const isTransform = path === CUSTOM_TRANSFORM;
    const respond = (response: HttpResponse) => exchange.respond(count(path, response));
    const refusal = refusalOf(exchange, isTransform);
    const handler = handlers.get(`${method} ${path}`);
    if (refusal !== undefined) respond(refusal);
    else if (handler === undefined) respond(nothing(path));
    else void answered(handler, exchange).then(respond);
  }

  function refusalOf(exchange: HttpExchange, isTransform: boolean): HttpResponse | undefined {
    // A request to transform events is answered with 503 instead, because rudder-server would drop
    // its events after a 401 or a 403.
    const refusal = (reason: AgainReason, status: number, text: string) =>
      isTransform ? againResponse(reason, text) : textResponse(status, text);
    if (!hasSecret(exchange)) return refusal("secret_missing", 401, NO_SECRET);
    // The header `Host` of a request to transform events is not checked, because rudder-server may
    // know this machine by any name. A page that sends such a request is known by its `Origin`.
    if (!isFromPage(exchange, isLoopback && !isTransform)) return undefined;
    return refusal("page", 403, "Expected a request of a server, not of a page in a browser");
  }

  async function answered(handler: Handler, exchange: HttpExchange): Promise<HttpResponse> {
    const late = Promise.withResolvers<HttpResponse>();
    const timer = setTimeout(
      () => late.resolve(againResponse("timeout", "The request took too long")),
      options.requestMsMax ?? TRANSFORMER_REQUEST_MS_MAX,
    );
    let isAnswered = false;
    const isAwaited = () => !isAnswered && !exchange.hasClientEnded;
    try {
      return await stopping.race(handler(exchange, isAwaited), late.promise);
    } catch (err) {
      logger.error({ err }, "request of the transformer listener failed");
      return againResponse("failed", "The request failed, the log says why");
    } finally {
      isAnswered = true;
      clearTimeout(timer);
    }
  }

  if (!isLoopback && options.secret === undefined) logger.warn(OPEN_TO_NETWORK);
  const { socket = openListeningSocket(options) } = options;
  const server = serveHttp({
    socket,
    handle,
    refusal: (status, request) =>
      count(
        request?.path,
        status === 503
          ? againResponse("busy", "Too many bytes wait to be read")
          : textResponse(status, "The request is refused, its size or its form is not accepted"),
      ),
    // Requests are not limited by network, because all of them come from one or two servers.
    networkOf: () => undefined,
    bodyBytesMax: (path) =>
      path === CUSTOM_TRANSFORM ? TRANSFORMER_BODY_BYTES_MAX : BODY_BYTES_MAX,
    connectionsMax: TRANSFORMER_CONNECTIONS_MAX,
    tls: options.tls,
    onFailedHandshake: options.onFailedHandshake,
    onFault: (err: InvariantError) => logger.error({ err }, "connection of rudder-server failed"),
  });
  return {
    /** URL of the listener, such as `http://127.0.0.1:9090`. */
    url: httpUrl(socket.host ?? host, server.port, options.tls && "https"),
    /** The listening socket, which is closed when the listener stops. */
    socket,
    /** Changes certificate and key for new connections. Open connections keep their certificate. */
    setTls: server.setTls,
    /**
     * Stops accepting requests, and resolves when all open requests are answered. A request without
     * an answer after `DRAIN_MS_MAX` gets a 503, after which rudder-server sends it again.
     */
    async stop(): Promise<void> {
      const answerRest = () => stopping.happen(againResponse("stopping", "The server is stopping"));
      const drained = server.stop();
      const timer = setTimeout(answerRest, DRAIN_MS_MAX);
      await drained;
      clearTimeout(timer);
    },
  };
}

/**
 * Creates the response, with status 404, to a request for which there is no endpoint. If only the
 * method is wrong (the path is `/customTransform`), the text says that the endpoint expects `POST`.
 */
function nothing(path: string): HttpResponse {
  const hint = path === CUSTOM_TRANSFORM ? ": it expects POST" : "";
  return textResponse(404, `There is nothing at this path${hint}`);
}

/** Creates a function that counts a response in the metrics and returns the same response. */
function createRequestCounter(metrics: Metrics) {
  const counter = new Counter({
    name: "pixelmill_transformer_requests_total",
    help: "Requests of rudder-server and rudder-transformer by kind and status",
    labelNames: ["kind", "status"],
    registers: [metrics],
  });
  return (path: string | undefined, response: HttpResponse): HttpResponse => {
    const kind = path === CUSTOM_TRANSFORM ? "transform" : "other";
    counter.inc({ kind, status: response.status });
    return response;
  };
}
