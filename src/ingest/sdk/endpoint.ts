import type { Source } from "../../catalog/model.ts";
import type { EventRecord } from "../../event/record.ts";
import { eventAt, type SdkBody, type SdkEventFacts, scanBody } from "../../event/sdk/body.ts";
import type { Span } from "../../event/text/scratch.ts";
import { markTimed } from "../../event/uuid.ts";
import type { HttpExchange } from "../../http/exchange.ts";
import { HttpResponse } from "../../http/response.ts";
import { SDK_EVENT_BYTES_MAX } from "../../settings/limits.ts";
import type { IngestLog } from "../log/ingest-log.ts";
import type { RefusalReason } from "../metrics.ts";
import type { PixelEndpointOptions } from "../pixel/endpoint.ts";
import { allowsOrigin, recordedAddress } from "../source-rules.ts";
import { bodyContent } from "./body-content.ts";
import type { SdkEndpoint } from "./paths.ts";
import { basicUser, queryWriteKey } from "./write-key.ts";

export interface SdkEndpointOptions
  extends Pick<PixelEndpointOptions, "source" | "clients" | "recordClientAddress" | "rate"> {
  log: Pick<IngestLog, "appendAll" | "otherLogs">;
  /** Returns the response to a request that is refused. */
  refuse(
    origin: string | undefined,
    status: number,
    message: string,
    headers?: Record<string, string>,
    reason?: RefusalReason,
  ): HttpResponse;
  /** Responds to the request with status 200 when `stored` resolves, with 503 when it rejects. */
  respondWhenStored(stored: Promise<void>, exchange: HttpExchange, taken: TakenEvents): void;
}

/** The events of one request that were appended to the log. */
export interface TakenEvents {
  sourceId: string;
  /** Origin of the page that sent the events; undefined when the client is not a browser. */
  origin: string | undefined;
  /** Number of the request's events that are valid, and so will be delivered. */
  good: number;
  /** Number of events that are stored as refused, and not delivered. */
  refused: number;
}

/**
 * Seconds after which an SDK should send its events to a disabled source again. The status is 503,
 * because mobile SDKs would answer a 404 by repeating the request every second.
 */
const DISABLED_RETRY_SECONDS = 300;
/**
 * Maximum number of bytes that are stored of a refused event's JSON, from its beginning, if the
 * event is too large or too deeply nested to be stored as a whole.
 */
const REFUSED_BYTES_KEPT = 4_096;

/**
 * Returns the function that handles requests with SDK events. The function returns the response to
 * a refused request. It returns undefined for an accepted one, to which `respondWhenStored`
 * responds later. Bad events in an accepted request are stored as refused.
 */
export function createSdkEndpoint(options: SdkEndpointOptions) {
  const { source: sourceOf, log, clients, rate, recordClientAddress, respondWhenStored } = options;

  /**
   * Returns the source with this write key. Returns an error response instead if there is no such
   * source, or if the source is disabled, does not allow the origin, or has exceeded its rate.
   */
  function admit(origin: string | undefined, writeKey: string): Source | HttpResponse {
    const source = sourceOf(writeKey);
    const refuse = options.refuse.bind(options, origin);
    if (source === undefined) return refuse(401, "Invalid write key");
    if (!source.enabled) {
      const headers = { "Retry-After": String(DISABLED_RETRY_SECONDS) };
      return refuse(503, "Source is disabled", headers, "disabled");
    }
    if (!allowsOrigin(source, origin))
      return refuse(403, "Expected an origin that the source allows");
    const waitSeconds = rate.waitSeconds(source.id);
    if (waitSeconds > 0) {
      return refuse(429, "Expected fewer events of this write key, got more than its rate allows", {
        "Retry-After": String(waitSeconds),
      });
    }
    return source;
  }

  /**
   * Appends the events of a request to the log. Returns `stored`, a promise that resolves when all
   * of the events are durable, and `refused`, the number of events that are stored as refused.
   */
  function append(body: SdkBody, source: Source, endpoint: SdkEndpoint, exchange: HttpExchange) {
    const { bytes } = body;
    const receivedAt = Date.now();
    const clientAddress = recordClientAddress ? recordedAddress(source, clients.of(exchange)) : "";
    const after = log.otherLogs?.();
    const inherited = inheritedMembers(body);
    const records: EventRecord[] = [];
    const users: number[] = [];
    let refused = 0;
    for (let index = 0; index < body.events; index++) {
      const event = eventAt(index);
      const { problem } = event;
      const own = bytes.subarray(event.start, event.end);
      if (problem !== undefined) refused++;
      records.push({
        format: "json",
        type: endpoint.type ?? event.type ?? "track",
        receivedAt,
        sourceId: source.id,
        clientAddress,
        messageId: event.hasMessageId
          ? undefined
          : markTimed(crypto.getRandomValues(new Uint8Array(16)), receivedAt),
        sentAt: event.hasSentAt ? undefined : body.sentAt,
        json: problem === undefined ? withMembers(own, inherited(event)) : kept(own, event),
        after,
        refused: problem,
      });
      users.push(event.user);
    }
    return { stored: log.appendAll(records, users), refused };
  }

  return (endpoint: SdkEndpoint, exchange: HttpExchange): HttpResponse | undefined => {
    const origin = exchange.header("origin");
    const refuse = options.refuse.bind(options, origin);
    const sentKey = (endpoint.isBeacon && queryWriteKey(exchange)) || basicUser(exchange);
    const known = sentKey === undefined ? undefined : admit(origin, sentKey);
    if (known instanceof HttpResponse) return known;
    const content = bodyContent(exchange);
    if ("problem" in content) return refuse(content.status, content.problem, content.headers);
    const body = scanBody(content, endpoint.type === undefined);
    if ("problem" in body) return refuse(body.status, body.problem);
    if (sentKey === undefined && !body.writeKey) {
      return refuse(401, "Failed to read writeKey from header, query or body");
    }
    const source = known ?? admit(origin, body.writeKey!);
    if (source instanceof HttpResponse) return source;
    rate.take(source.id, body.events);
    const { stored, refused } = append(body, source, endpoint, exchange);
    const good = body.events - refused;
    respondWhenStored(stored, exchange, { sourceId: source.id, origin, good, refused });
    return undefined;
  };
}

/**
 * Returns the JSON that is stored for a refused event. If the event is too large or too deeply
 * nested for readers of the log, this is a JSON string of its first `REFUSED_BYTES_KEPT` bytes.
 */
function kept(json: Buffer, { isTooDeep }: Pick<SdkEventFacts, "isTooDeep">): Buffer {
  if (json.length <= SDK_EVENT_BYTES_MAX && !isTooDeep) return json;
  return Buffer.from(JSON.stringify(json.toString("utf8", 0, REFUSED_BYTES_KEPT)));
}

const CONTEXT = Buffer.from(',"context":');
const INTEGRATIONS = Buffer.from(',"integrations":');
const END = Buffer.from("}");
const NONE: Buffer[] = [];

/**
 * Returns a function that takes an event, and returns the members that it inherits from its batch:
 * `context` and `integrations`, unless the event has its own. They are returned as pieces of JSON
 * text, with a comma before each member.
 */
function inheritedMembers({ bytes, context, integrations }: SdkBody) {
  if (context === undefined && integrations === undefined) return () => NONE;
  const member = (name: Buffer, value: Span | undefined) =>
    value && [name, bytes.subarray(value.start, value.end)];
  const ofContext = member(CONTEXT, context);
  const ofIntegrations = member(INTEGRATIONS, integrations);
  return ({ hasContext, hasIntegrations }: SdkEventFacts): Buffer[] => [
    ...((!hasContext && ofContext) || NONE),
    ...((!hasIntegrations && ofIntegrations) || NONE),
  ];
}

/**
 * Appends `members` to the JSON of an object with at least one member. An appended member replaces
 * a null member of the same name, because the last of several with one name counts.
 */
function withMembers(json: Buffer, members: readonly Buffer[]): Buffer {
  if (members.length === 0) return json;
  return Buffer.concat([json.subarray(0, json.length - 1), ...members, END]);
}
