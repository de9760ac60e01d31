import type { EgressRequest } from "../../egress/egress.ts";
import type { OutgoingEvent } from "../destination.ts";
import type { BodyBuffers } from "./body-buffers.ts";
import { sendsQuery, type WebhookConfig } from "./config.ts";
import { WEBHOOK_ANSWER_BYTES_MAX, WEBHOOK_TIMEOUT_MS_DEFAULT } from "./limits.ts";
import { queryUrl } from "./query-url.ts";
import { bodyBuilder, compressBody, sendsList } from "./request-body.ts";
import { RequestBuildError } from "./request-build-error.ts";
import { overridesOf, type RequestOverrides } from "./request-overrides.ts";
import { requestId, signatureHeaders, signingKey } from "./signature.ts";
import { appendToUrl, replaceUrl } from "./url-overrides.ts";

export interface WebhookRequest extends EgressRequest {
  /**
   * The request's URL without the event in its query. Secrets in this URL are masked in the
   * receiver's answer; masking an event's values too would make the answer unreadable.
   */
  urlWithoutEvent: string;
}

/**
 * Returns a function that builds one webhook request for events with the same batch key. The
 * function throws `RequestBuildError` if it cannot build one. If the request has `hasHeadRoom`, its
 * body is in a buffer from `buffers`, which may be given back after use.
 */
export function requestBuilder(config: WebhookConfig, workspaceId: string, buffers?: BodyBuffers) {
  const key = config.secret === undefined ? undefined : signingKey(config.secret);
  const inQuery = sendsQuery(config);
  const bodies = bodyBuilder(config);
  // Without a template, the JSON body contains the `messageId`. Sending it in a header too would
  // raise the CPU cost of an event by a twelfth.
  const isOther = config.template !== undefined || config.batchTemplate !== undefined || inQuery;
  const hasId = key !== undefined || isOther;
  // A buffer is used only if the body is the list of events as `join` makes it.
  const listBuffers = isOther || config.gzip || !sendsList(config) ? undefined : buffers;
  const fixed: Record<string, string> = {
    ...(!inQuery && { "content-type": "application/json" }),
    "user-agent": "pixelmill",
  };
  for (const { from, to } of config.headers ?? []) fixed[from.toLowerCase()] = to;
  if (config.gzip) fixed["content-encoding"] = "gzip";

  return (events: readonly OutgoingEvent[], signal: AbortSignal) => {
    const { texts, overrides } = textsAndOverrides(events);
    const url = urlOf(config, overrides);
    const joined = bodies.join(texts, listBuffers);
    const body = inQuery ? nothing : bodies.render(texts, joined);
    let headers = overrides === undefined ? fixed : { ...fixed, ...overrides.headers };
    if (hasId) {
      const id = requestId(events, joined);
      // The signature covers the uncompressed body, because the receiver's code checks that one.
      const signed = key && signatureHeaders(key, id, body, Date.now());
      headers = { ...headers, "webhook-id": id, ...signed };
    }
    const request: WebhookRequest = {
      workspaceId,
      headers,
      body,
      hasHeadRoom: listBuffers !== undefined,
      signal,
      url: inQuery ? queryUrl(url, texts[0]!) : url,
      urlWithoutEvent: url,
      method: config.webhookMethod ?? "POST",
      timeoutMs: config.timeoutMs ?? WEBHOOK_TIMEOUT_MS_DEFAULT,
      answerBytesMax: WEBHOOK_ANSWER_BYTES_MAX,
      // An event may be delivered more than once, always with the same `messageId`.
      isRepeatable: true,
    };
    return config.gzip ? compressed(request) : request;
  };
}

async function compressed(request: WebhookRequest): Promise<WebhookRequest> {
  return { ...request, body: await compressBody(request.body) };
}

/**
 * Returns the JSON text of each event, and the changes (`overrides`) that the events make to the
 * request, if any. All of `events` must have the same batch key, and so make the same changes.
 */
function textsAndOverrides(events: readonly OutgoingEvent[]): {
  texts: Uint8Array[];
  overrides?: RequestOverrides;
} {
  const first = overridesOf(events[0]!);
  if (first === undefined) return { texts: events.map(({ bytes }) => bytes) };
  const texts = events.map((event) => Buffer.from((overridesOf(event) ?? first).text));
  return { texts, overrides: first.overrides };
}

function urlOf(
  { webhookUrl, oauth }: WebhookConfig,
  overrides: RequestOverrides | undefined,
): string {
  if (overrides === undefined) return webhookUrl;
  if (oauth !== undefined && overrides.headers.authorization !== undefined) {
    throw new RequestBuildError("Expected no header authorization, which the access token needs");
  }
  const url =
    overrides.fullPath === undefined ? webhookUrl : replaceUrl(webhookUrl, overrides.fullPath);
  return overrides.appendPath === undefined ? url : appendToUrl(url, overrides.appendPath);
}

const nothing = new Uint8Array();
