import {
  type Egress,
  type EgressAnswer,
  EgressRefused,
  type EgressRequest,
} from "../../egress/egress.ts";
import {
  LANE_DELIVERIES_MAX,
  WEBHOOK_ANSWER_BYTES_MAX,
  WEBHOOK_TIMEOUT_MS_DEFAULT,
} from "../../limits.ts";
import type { DestinationKind, OpenDestination, Outgoing, Verdict } from "../destination.ts";
import { askInSteps, networkReason } from "../http.ts";
import { testEvent } from "../test-event.ts";
import { type TestStep, TestSteps } from "../test-steps.ts";
import { sendsQuery, WebhookConfig, webhookFaults } from "./config.ts";
import { NotInQuery, queryUrl } from "./query-url.ts";
import { retryAfterMs } from "./retry-after.ts";
import { signatureHeaders, signingKey } from "./signature.ts";

/** Sends events as JSON by HTTP: one object per request, or an array when `batchSize` is above 1. */
export function webhookKind(egress: Egress): DestinationKind {
  return {
    kind: "webhook",
    configSchema: WebhookConfig,
    secretKeys: ["secret", "headers.to"],
    validate: webhookFaults,
    batchSize: (config) => (config as WebhookConfig).batchSize ?? 1,
    concurrency: () => LANE_DELIVERIES_MAX,
    open: (config, workspaceId) => openWebhook(config as WebhookConfig, workspaceId, egress),
    test: (config, workspaceId, signal) =>
      testWebhook(egress, config as WebhookConfig, workspaceId, signal),
  };
}

function openWebhook(config: WebhookConfig, workspaceId: string, egress: Egress): OpenDestination {
  const requestOf = requestMaker(config, workspaceId);

  return {
    async deliver(events, signal) {
      if (!isArray(config) && events.length !== 1) {
        throw new RangeError("Expected one event a delivery");
      }
      try {
        return verdictOf(await egress.request(requestOf(events.map(textOf), signal)));
      } catch (error) {
        const isFinal = error instanceof EgressRefused || error instanceof NotInQuery;
        if (isFinal) return { kind: "rejected", reason: error.message };
        return { kind: "retry", reason: networkReason(error) };
      }
    },
    async close() {},
  };
}

/** Sends one event that says that it is a test: nothing else shows that the receiver takes them. */
async function testWebhook(
  egress: Egress,
  config: WebhookConfig,
  workspaceId: string,
  signal: AbortSignal,
): Promise<TestStep[]> {
  const steps = new TestSteps();
  const request = requestMaker(config, workspaceId)([testEvent()], signal);
  const answer = await askInSteps(egress, request, steps, "write");
  if (answer === undefined) return steps.done;
  const verdict = verdictOf(answer);
  if (verdict.kind === "delivered") steps.passed("write");
  else steps.failed("write", verdict.reason);
  return steps.done;
}

/** Returns the function that makes a request of events. */
function requestMaker(config: WebhookConfig, workspaceId: string) {
  const key = config.secret === undefined ? undefined : signingKey(config.secret);
  const inQuery = sendsQuery(config);
  const headers: Record<string, string> = {
    ...(!inQuery && { "content-type": "application/json" }),
    "user-agent": "pixelmill",
  };
  for (const { from, to } of config.headers ?? []) headers[from.toLowerCase()] = to;

  return (events: readonly Uint8Array[], signal: AbortSignal): EgressRequest => {
    const body = inQuery ? nothing : isArray(config) ? jsonArray(events) : events[0]!;
    return {
      workspaceId,
      url: inQuery ? queryUrl(config.webhookUrl, events[0]!) : config.webhookUrl,
      method: config.webhookMethod ?? "POST",
      headers: key ? { ...headers, ...signatureHeaders(key, body, Date.now()) } : headers,
      body,
      timeoutMs: config.timeoutMs ?? WEBHOOK_TIMEOUT_MS_DEFAULT,
      answerBytesMax: WEBHOOK_ANSWER_BYTES_MAX,
      // A delivery may be repeated: at least once, with the same `messageId` each time.
      isRepeatable: true,
      signal,
    };
  };
}

const isArray = ({ batchSize = 1 }: WebhookConfig) => batchSize > 1;
const textOf = ({ bytes }: Outgoing) => bytes;

/** Statuses below 500 that say "later": RFC 9110 §15.5.9, RFC 8470 §5.2, RFC 6585 §4. */
const later = new Set([408, 425, 429]);

/**
 * The verdict by the answer's status; it does not matter what of the body lies beyond the bound. A
 * redirect is a failure: its target was never checked, and most clients would turn the request into
 * a GET.
 */
function verdictOf({ status, headers }: EgressAnswer): Verdict {
  if (status >= 200 && status < 300) return { kind: "delivered" };
  const reason = `The receiver answered ${status}`;
  if (status < 500 && !later.has(status)) return { kind: "rejected", reason };
  const afterMs = retryAfterMs(headers["retry-after"], Date.now());
  return { kind: "retry", reason, ...(afterMs !== undefined && { afterMs }) };
}

const nothing = new Uint8Array();

const open = Buffer.from("[");
const comma = Buffer.from(",");
const close = Buffer.from("]");

function jsonArray(events: readonly Uint8Array[]): Uint8Array {
  const parts: Uint8Array[] = [open];
  for (const [index, event] of events.entries()) {
    if (index > 0) parts.push(comma);
    parts.push(event);
  }
  return Buffer.concat([...parts, close]);
}
