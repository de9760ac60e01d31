import type { HttpExchange } from "../../http/exchange.ts";
import type { HttpResponse } from "../../http/response.ts";
import { createSdkEndpoint, type SdkEndpointOptions } from "./endpoint.ts";
import { sdkEndpoints } from "./paths.ts";
import { sdkPreflightResponse, sdkResponse, successResponse } from "./responses.ts";
import { createSourceConfig, type SourceConfigOptions } from "./source-config.ts";
import { basicUser, queryWriteKey } from "./write-key.ts";

/** Paths to which SDKs send metrics about themselves. The metrics are not stored. */
const SDK_METRICS_PATHS = ["/v1/m", "/v1/m/", "/rsaMetrics", "/rsaMetrics/"];
/** Paths at which RudderStack's SDKs ask for their configuration. */
const CONFIG_PATHS = ["/sourceConfig", "/sourceConfig/"];
/** Path at which Segment's SDKs ask for their settings. The path contains the write key. */
const SETTINGS_PATH = /^\/v1\/projects\/([^/]+)\/settings\/?$/;

const SENDING_METHODS = "POST, OPTIONS";
const READING_METHODS = "GET, HEAD, OPTIONS";

/** Handles a request. Returns the response; undefined when it follows later. */
export type ExchangeHandler = (exchange: HttpExchange) => HttpResponse | undefined;

/**
 * Creates the handlers of the paths that SDKs use. Returns a function from a path to its handler,
 * or to undefined for any other path.
 */
export function createSdkRoutes(options: SdkEndpointOptions & SourceConfigOptions) {
  const takeEvents = createSdkEndpoint(options);
  const config = createSourceConfig(options);

  /**
   * Returns a handler that calls `handle` for requests with one of `methods`, answers CORS
   * preflight requests, and responds to other methods with status 405.
   */
  const forMethods = (methods: string, handle: ExchangeHandler): ExchangeHandler => {
    const allowed = methods.split(", ");
    const expected = allowed.slice(0, -1).join(" or ");
    return (exchange) => {
      if (exchange.method === "OPTIONS") return sdkPreflightResponse(exchange, methods);
      if (allowed.includes(exchange.method)) return handle(exchange);
      return options.refuse(exchange.header("origin"), 405, `Expected the method ${expected}`, {
        Allow: methods,
      });
    };
  };

  const handlers = new Map<string, ExchangeHandler>();
  const add = (paths: readonly string[], methods: string, handle: ExchangeHandler) => {
    for (const path of paths) handlers.set(path, forMethods(methods, handle));
  };
  for (const [path, endpoint] of sdkEndpoints) {
    add([path], SENDING_METHODS, (exchange) => takeEvents(endpoint, exchange));
  }
  add(SDK_METRICS_PATHS, SENDING_METHODS, (exchange) => successResponse(exchange.header("origin")));
  add(CONFIG_PATHS, READING_METHODS, (exchange) => {
    const writeKey = basicUser(exchange) ?? queryWriteKey(exchange);
    return sdkResponse(exchange.header("origin"), config.rudderStack(writeKey));
  });
  const settings = forMethods(READING_METHODS, (exchange) => {
    const [, writeKey = ""] = SETTINGS_PATH.exec(exchange.path) ?? [];
    return sdkResponse(exchange.header("origin"), config.segment(writeKey));
  });

  return (path: string): ExchangeHandler | undefined =>
    handlers.get(path) ?? (SETTINGS_PATH.test(path) ? settings : undefined);
}
