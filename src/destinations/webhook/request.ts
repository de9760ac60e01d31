import type { EgressRequest } from "../../egress/egress.ts";
import { WEBHOOK_ANSWER_BYTES_MAX, WEBHOOK_TIMEOUT_MS_DEFAULT } from "../../limits.ts";
import type { Outgoing } from "../destination.ts";
import { fullUrl, withPath } from "./appended-path.ts";
import { bodyMaker, gzipped } from "./body.ts";
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
  const bodyOf = inQuery ? () => nothing : bodyMaker(config);
  const headers: Record<string, string> = {
    ...(!inQuery && { "content-type": "application/json" }),
    "user-agent": "pixelmill",
  };
  for (const { from, to } of config.headers ?? []) headers[from.toLowerCase()] = to;
  if (config.gzip) headers["content-encoding"] = "gzip";

  return async (events: readonly Outgoing[], signal: AbortSignal): Promise<EgressRequest> => {
    const { texts, shape } = shapedAlike(events);
    if (shape?.headers.authorization !== undefined && config.oauth !== undefined) {
      throw new RequestRefused("Expected no header authorization, which the access token needs");
    }
    const url = urlOf(config.webhookUrl, shape);
    const plain = bodyOf(texts);
    const id = idOf(events);
    return {
      workspaceId,
      url: inQuery ? queryUrl(url, texts[0]!) : url,
      method: config.webhookMethod ?? "POST",
      headers: {
        ...headers,
        ...shape?.headers,
        "webhook-id": id,
        // What is signed is the body as the receiver's code reads it, which is not compressed.
        ...(key && signatureHeaders(key, id, plain, Date.now())),
      },
      body: config.gzip ? await gzipped(plain) : plain,
      timeoutMs: config.timeoutMs ?? WEBHOOK_TIMEOUT_MS_DEFAULT,
      answerBytesMax: WEBHOOK_ANSWER_BYTES_MAX,
      // A delivery may be repeated: at least once, with the same `messageId` each time.
      isRepeatable: true,
      signal,
    };
  };
}

/** The texts of events, and the shape that all of them ask for. */
function shapedAlike(events: readonly Outgoing[]): { texts: Uint8Array[]; shape?: Shape } {
  const shaped = events.map(shapedOf);
  const texts = events.map(({ bytes }, index) => {
    const own = shaped[index];
    return own === undefined ? bytes : Buffer.from(own.text);
  });
  const shape = shaped[0]?.shape;
  return { texts, ...(shape && { shape }) };
}

function urlOf(webhookUrl: string, shape: Shape | undefined): string {
  const url = shape?.fullPath === undefined ? webhookUrl : fullUrl(webhookUrl, shape.fullPath);
  return shape?.appendPath === undefined ? url : withPath(url, shape.appendPath);
}

const nothing = new Uint8Array();
