import type { Source } from "../../catalog/model.ts";
import { createRateLimiter } from "../../concurrency/rate-limiter.ts";
import { inspectQuery } from "../../event/inspect.ts";
import type { PixelRecord } from "../../event/record.ts";
import type { HttpExchange } from "../../http/exchange.ts";
import type { HttpResponse } from "../../http/response.ts";
import { PIXEL_TARGET_BYTES_MAX } from "../../settings/limits.ts";
import type { ClientAddresses } from "../client-address.ts";
import type { IngestLog } from "../log/ingest-log.ts";
import { createMessageId } from "../message-id.ts";

export interface PixelEndpointOptions {
  /** The source of a write key, enabled or not. */
  source(writeKey: string): Source | undefined;
  log: Pick<IngestLog, "append" | "isPartitionedByUser" | "otherLogs">;
  clients: ClientAddresses;
  /** Whether events carry `request_ip`. */
  recordClientAddress: boolean;
  /** Pixels per second and source beyond which 429 is answered; 0 is no limit. */
  pixelsPerSecondMax: number;
  /** The response to a pixel that is refused. */
  refuse(status: number, message: string, headers?: Record<string, string>): HttpResponse;
  /** Responds to the exchange once `stored` resolves, or with 503 when it rejects. */
  respondWhenStored(stored: Promise<void>, exchange: HttpExchange): void;
}

/**
 * Admits a pixel and appends its record to the log. Returns the response to a pixel that is refused;
 * undefined when the record is on its way to the disk.
 */
export function createPixelEndpoint(
  options: PixelEndpointOptions,
): (type: PixelRecord["type"], exchange: HttpExchange) => HttpResponse | undefined {
  const { source: sourceOf, log, clients, recordClientAddress, refuse } = options;
  const takeFromRate = createRateLimiter(options.pixelsPerSecondMax);

  return (type, exchange) => {
    const { query } = exchange;
    if (exchange.targetBytes > PIXEL_TARGET_BYTES_MAX) {
      return refuse(414, `Expected a URL of at most ${PIXEL_TARGET_BYTES_MAX} bytes`);
    }
    const { problem, writeKey, user } = inspectQuery(query, type, log.isPartitionedByUser);
    if (problem !== undefined) return refuse(400, problem);
    const source = sourceOf(writeKey);
    if (source === undefined) return refuse(401, "Invalid write key");
    if (!source.enabled) return refuse(404, "Source is disabled");
    const waitSeconds = takeFromRate(source.id);
    if (waitSeconds > 0) {
      return refuse(429, "Expected fewer pixels of this write key, got more than its rate allows", {
        "Retry-After": String(waitSeconds),
      });
    }

    const record: PixelRecord = {
      type,
      receivedAt: Date.now(),
      sourceId: source.id,
      clientAddress: recordClientAddress ? clients.of(exchange) : "",
      messageId: createMessageId(),
      query,
      after: log.otherLogs?.(),
    };
    options.respondWhenStored(log.append(record, user), exchange);
    return undefined;
  };
}
