import type { EgressRequest } from "../../egress/egress.ts";
import { WEBHOOK_ANSWER_BYTES_MAX, WEBHOOK_TIMEOUT_MS_DEFAULT } from "../../settings/limits.ts";
import type { Outgoing } from "../destination.ts";
import { fullUrl, withPath } from "./appended-path.ts";
import { bodiesOf, gzipped } from "./body.ts";
import { sendsQuery, type WebhookConfig } from "./config.ts";
import { queryUrl } from "./query-url.ts";
import { RequestRefused } from "./request-refused.ts";
import { type Shape, shapedOf } from "./shaped.ts";
import { idOf, signatureHeaders, signingKey } from "./signature.ts";

/**
 * Returns the function that makes a request of events that share one; it throws `RequestRefused`
 * when none can be made of them.
 */
export function requestMaker(config: WebhookConfig, workspaceId: string) {
  const key = config.secret === undefined ? undefined : signingKey(config.secret);
  const inQuery = sendsQuery(config);
  const bodies = bodiesOf(config);
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

  return (events: readonly Outgoing[], signal: AbortSignal) => {
    const { texts, shape } = shapedAlike(events);
    const url = urlOf(config, shape);
    const joined = bodies.joined(texts);
    const body = inQuery ? nothing : bodies.filled(texts, joined);
    let headers = shape === undefined ? fixed : { ...fixed, ...shape.headers };
    if (hasId) {
      const id = idOf(events, joined);
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
  return { ...request, body: await gzipped(request.body) };
}

/** The texts of events, and the shape of their request, for which the first speaks. */
function shapedAlike(events: readonly Outgoing[]): { texts: Uint8Array[]; shape?: Shape } {
  const first = shapedOf(events[0]!);
  if (first === undefined) return { texts: events.map(({ bytes }) => bytes) };
  const texts = events.map((event) => Buffer.from((shapedOf(event) ?? first).text));
  return { texts, shape: first.shape };
}

function urlOf({ webhookUrl, oauth }: WebhookConfig, shape: Shape | undefined): string {
  if (shape === undefined) return webhookUrl;
  if (oauth !== undefined && shape.headers.authorization !== undefined) {
    throw new RequestRefused("Expected no header authorization, which the access token needs");
  }
  const url = shape.fullPath === undefined ? webhookUrl : fullUrl(webhookUrl, shape.fullPath);
  return shape.appendPath === undefined ? url : withPath(url, shape.appendPath);
}

const nothing = new Uint8Array();
