import type { EgressRequest } from "../../egress/egress.ts";
import type { OutgoingEvent } from "../destination.ts";
import { bodyBuilder, compressBody } from "./body.ts";
import { sendsQuery, type WebhookConfig } from "./config.ts";
import { WEBHOOK_ANSWER_BYTES_MAX, WEBHOOK_TIMEOUT_MS_DEFAULT } from "./limits.ts";
import { queryUrl } from "./query-url.ts";
import { RequestBuildError } from "./request-build-error.ts";
import { overridesOf, type RequestOverrides } from "./request-overrides.ts";
import { requestId, signatureHeaders, signingKey } from "./signature.ts";
import { appendToUrl, replaceUrl } from "./url-overrides.ts";

/**
 * Returns the function that makes a request of events that share one; it throws `RequestBuildError`
 * when none can be made of them.
 */
export function requestBuilder(config: WebhookConfig, workspaceId: string) {
  const key = config.secret === undefined ? undefined : signingKey(config.secret);
  const inQuery = sendsQuery(config);
  const bodies = bodyBuilder(config);
  // Other requests hold the `messageId` in their bodies: a header for each would cost a twelfth of
  // what an event costs.
  const isOther = config.template !== undefined || config.batchTemplate !== undefined || inQuery;
  const hasId = key !== undefined || isOther;
  const fixed: Record<string, string> = {
    ...(!inQuery && { "content-type": "application/json" }),
    "user-agent": "pixelmill",
  };
  for (const { from, to } of config.headers ?? []) fixed[from.toLowerCase()] = to;
  if (config.gzip) fixed["content-encoding"] = "gzip";

  return (events: readonly OutgoingEvent[], signal: AbortSignal) => {
    const { texts, shape } = shapedAlike(events);
    const url = urlOf(config, shape);
    const joined = bodies.join(texts);
    const body = inQuery ? nothing : bodies.render(texts, joined);
    let headers = shape === undefined ? fixed : { ...fixed, ...shape.headers };
    if (hasId) {
      const id = requestId(events, joined);
      // What is signed is the body as the receiver's code reads it, which is not compressed.
      const signed = key && signatureHeaders(key, id, body, Date.now());
      headers = { ...headers, "webhook-id": id, ...signed };
    }
    const request: EgressRequest = {
      ...{ workspaceId, headers, body, signal },
      url: inQuery ? queryUrl(url, texts[0]!) : url,
      method: config.webhookMethod ?? "POST",
      timeoutMs: config.timeoutMs ?? WEBHOOK_TIMEOUT_MS_DEFAULT,
      answerBytesMax: WEBHOOK_ANSWER_BYTES_MAX,
      // A delivery may be repeated: at least once, with the same `messageId` each time.
      isRepeatable: true,
    };
    return config.gzip ? compressed(request) : request;
  };
}

async function compressed(request: EgressRequest): Promise<EgressRequest> {
  return { ...request, body: await compressBody(request.body) };
}

/** The texts of events, and the shape of their request, for which the first speaks. */
function shapedAlike(events: readonly OutgoingEvent[]): {
  texts: Uint8Array[];
  shape?: RequestOverrides;
} {
  const first = overridesOf(events[0]!);
  if (first === undefined) return { texts: events.map(({ bytes }) => bytes) };
  const texts = events.map((event) => Buffer.from((overridesOf(event) ?? first).text));
  return { texts, shape: first.overrides };
}

function urlOf({ webhookUrl, oauth }: WebhookConfig, shape: RequestOverrides | undefined): string {
  if (shape === undefined) return webhookUrl;
  if (oauth !== undefined && shape.headers.authorization !== undefined) {
    throw new RequestBuildError("Expected no header authorization, which the access token needs");
  }
  const url = shape.fullPath === undefined ? webhookUrl : replaceUrl(webhookUrl, shape.fullPath);
  return shape.appendPath === undefined ? url : appendToUrl(url, shape.appendPath);
}

const nothing = new Uint8Array();
