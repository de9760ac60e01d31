import type { Source } from "../../catalog/model.ts";
import { settingsOfSource } from "../../catalog/source-settings.ts";
import type { TokenBuckets } from "../../concurrency/rate-limiter.ts";
import { inspectQuery } from "../../event/inspect.ts";
import type { PixelRecord } from "../../event/record.ts";
import { markVersion4 } from "../../event/uuid.ts";
import type { HttpExchange } from "../../http/exchange.ts";
import type { HttpResponse } from "../../http/response.ts";
import { PIXEL_TARGET_BYTES_MAX } from "../../settings/limits.ts";
import type { ClientAddresses } from "../client-address.ts";
import type { IngestLog } from "../log/ingest-log.ts";
import { allowsOrigin, recordedAddress } from "../source-rules.ts";

export interface PixelEndpointOptions {
  /**
   * Returns the source that has this write key (the key by which a pixel names its source), even if
   * the source is disabled. Returns undefined when no source has it.
   */
  source(writeKey: string): Source | undefined;
  log: Pick<IngestLog, "append" | "isPartitionedByUser" | "otherLogs">;
  clients: ClientAddresses;
  /** Whether the client's IP address is recorded, as `request_ip` of the event. */
  recordClientAddress: boolean;
  /**
   * Limits the number of events per second of each source. The key of a bucket is the source's id.
   */
  rate: TokenBuckets;
  /** Returns the response to a pixel that is refused. */
  refuse(status: number, message: string, headers?: Record<string, string>): HttpResponse;
  /**
   * Responds to the request with a 1×1 GIF when `stored` resolves, and with status 503 when it
   * rejects.
   */
  respondWhenStored(stored: Promise<void>, exchange: HttpExchange, sourceId: string): void;
}

/**
 * Returns the function that handles pixel requests (events sent as GET or POST requests). The
 * function returns the response to a refused pixel. It returns undefined for an accepted pixel, to
 * which `respondWhenStored` responds later.
 */
export function createPixelEndpoint(options: PixelEndpointOptions) {
  const { source: sourceOf, log, clients, rate, recordClientAddress, refuse } = options;

  return (type: PixelRecord["type"], exchange: HttpExchange): HttpResponse | undefined => {
    const { query } = exchange;
    if (exchange.targetBytes > PIXEL_TARGET_BYTES_MAX) {
      return refuse(414, `Expected a URL of at most ${PIXEL_TARGET_BYTES_MAX} bytes`);
    }
    const { problem, writeKey, user } = inspectQuery(query, type, log.isPartitionedByUser);
    if (problem !== undefined) return refuse(400, problem);
    const source = sourceOf(writeKey);
    if (source === undefined) return refuse(401, "Invalid write key");
    if (!source.enabled) return refuse(404, "Source is disabled");
    if (!allowsOrigin(source, exchange.header("origin")))
      return refuse(403, "Expected an origin that the source allows");
    const waitSeconds = rate.waitSeconds(source.id);
    if (waitSeconds > 0) {
      return refuse(429, "Expected fewer pixels of this write key, got more than its rate allows", {
        "Retry-After": String(waitSeconds),
      });
    }

    rate.take(source.id);

    const record: PixelRecord = {
      type,
      receivedAt: Date.now(),
      sourceId: source.id,
      clientAddress: recordClientAddress ? recordedAddress(source, clients.of(exchange)) : "",
      // Creating random bytes takes 15 ns, less than a view into a pool of them.
      messageId: markVersion4(crypto.getRandomValues(new Uint8Array(16))),
      query: recordedQuery(source, exchange),
      after: log.otherLogs?.(),
    };
    options.respondWhenStored(log.append(record, user), exchange, source.id);
    return undefined;
  };
}

/** Maximum number of characters of a user agent that are recorded. No browser sends more. */
const USER_AGENT_CHARS_MAX = 1_024;

/**
 * Returns the query of a pixel as it is recorded. If the source marks or drops bots, the header
 * `User-Agent` is appended as the parameter `context.userAgent`, unless the query would become too
 * long. A client's own parameter counts instead, because it comes first.
 */
function recordedQuery(source: Source, exchange: HttpExchange): string {
  const { query } = exchange;
  if (settingsOfSource(source).bots === "keep") return query;
  const userAgent = exchange.header("user-agent") ?? "";
  if (userAgent === "") return query;
  const text = encodeURIComponent(userAgent.slice(0, USER_AGENT_CHARS_MAX));
  const recorded = `${query}&context.userAgent=${text}`;
  return recorded.length > PIXEL_TARGET_BYTES_MAX ? query : recorded;
}
