import type { AlertReceiver, NotificationResult } from "../../catalog/alerts/model.ts";
import { type Egress, networkReason } from "../../egress/egress.ts";
import { cutText } from "../../errors.ts";
import { ALERT_SEND_MS_MAX } from "../../settings/limits.ts";
import { ruleKinds } from "../rule-kinds.ts";
import type { AlertMessage } from "./message.ts";

/** Number of bytes after which a receiver's response is cut off. Only its status is used. */
const ANSWER_BYTES_MAX = 64 << 10;
/**
 * URL of PagerDuty's Events API. Used for a PagerDuty receiver whose settings contain no other URL.
 */
export const PAGERDUTY_URL = "https://events.pagerduty.com/v2/enqueue";

/** Sends a notification to a receiver over HTTP. Never rejects: the result reports a failure. */
export async function sendByHttp(
  egress: Egress,
  receiver: AlertReceiver,
  message: AlertMessage,
  signal: AbortSignal,
): Promise<NotificationResult> {
  const { url, headers, body } = formed(receiver, message);
  try {
    const { status } = await egress.request({
      workspaceId: receiver.workspaceId,
      url,
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: Buffer.from(JSON.stringify(body)),
      isRepeatable: true,
      answerBytesMax: ANSWER_BYTES_MAX,
      timeoutMs: ALERT_SEND_MS_MAX,
      signal,
    });
    if (status >= 200 && status < 300) return { kind: "sent" };
    const redirect = status >= 300 && status < 400 ? "; redirects are not followed" : "";
    return { kind: "retry", reason: `HTTP ${status} from receiver${redirect}` };
  } catch (error) {
    return { kind: "retry", reason: networkReason(error) };
  }
}

function formed(receiver: AlertReceiver, message: AlertMessage) {
  const { url = "", authorization, type } = receiver;
  if (type === "slack") return { url, headers: {}, body: slackBody(message) };
  if (type === "pagerduty") {
    return { url: url || PAGERDUTY_URL, headers: {}, body: pagerDutyBody(receiver, message) };
  }
  return {
    url,
    headers: {
      "Idempotency-Key": message.id,
      ...(authorization !== undefined && { Authorization: authorization }),
    },
    body: webhookBody(message),
  };
}

function slackBody({ phase, title, text, url }: AlertMessage) {
  const icon = { begin: ":rotating_light:", end: ":white_check_mark:", test: ":bell:" }[phase];
  return {
    text: `${icon} *${slackText(title)}*\n${slackText(text)}\n<${slackText(url)}|Open in console>`,
  };
}

/** Escapes a text for Slack, so that Slack shows a name such as `<!channel>` as text. */
function slackText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Maximum number of characters that PagerDuty accepts in a summary. */
const PAGERDUTY_SUMMARY_CHARS_MAX = 1_024;

function pagerDutyBody(receiver: AlertReceiver, message: AlertMessage) {
  const { phase, title, text, url, dedupKey, alert, workspace } = message;
  return {
    routing_key: receiver.routingKey,
    event_action: phase === "end" ? "resolve" : "trigger",
    dedup_key: dedupKey,
    ...(phase !== "end" && {
      payload: {
        summary: cutText(`${title}: ${text.split("\n")[0]}`, PAGERDUTY_SUMMARY_CHARS_MAX),
        source: alert.subject.name,
        severity: phase === "test" ? "info" : ruleKinds[alert.kind].severity,
        component: alert.subject.type,
        group: workspace.name,
        class: alert.kind,
        timestamp: alert.beganAt,
      },
      links: [{ href: url, text: "Open in console" }],
      client: "pixelmill",
      client_url: url,
    }),
  };
}

function webhookBody({ phase, dedupKey, title, text, url, alert, workspace }: AlertMessage) {
  const type = { begin: "alert.began", end: "alert.ended", test: "alert.test" }[phase];
  return { type, dedupKey, title, text, url, alert, workspace };
}
