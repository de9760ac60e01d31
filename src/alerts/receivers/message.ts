import type { Alert, AlertPhase, AlertRule } from "../../catalog/alerts/model.ts";
import { duration } from "../conditions.ts";

/** Content of a notification, without the form of a receiver. */
export interface AlertMessage {
  phase: AlertPhase | "test";
  /** The same for all notifications of one alert. Receivers join them by it. */
  dedupKey: string;
  /** The same for all attempts to send one notification. */
  id: string;
  /** One line without line breaks. */
  title: string;
  text: string;
  /** Link to the item in the console. */
  url: string;
  workspace: { id: string; name: string };
  alert: Pick<Alert, "id" | "kind" | "subject" | "message"> & {
    rule: Pick<AlertRule, "id" | "name">;
    beganAt: string;
    endedAt?: string;
  };
}

interface MessageContext {
  phase: AlertPhase | "test";
  receiverId: string;
  /** URL of the console, without a slash at its end. */
  consoleUrl: string;
  workspace: { id: string; name: string };
}

/** Returns the text of a notification about an alert. */
export function alertMessage(alert: Alert, context: MessageContext): AlertMessage {
  const { id, kind, subject, message, ruleId, ruleName, createdAt, endedAt } = alert;
  const { phase, receiverId, consoleUrl, workspace } = context;
  const lasted = endedAt === undefined ? "" : ` after ${duration((endedAt - createdAt) / 1_000)}`;
  const text = phase === "end" ? `Resolved${lasted}: ${message}` : message;
  const label = { begin: "Alert", end: "Resolved", test: "Test" }[phase];
  return {
    phase,
    dedupKey: `pixelmill-${id}`,
    id: `${id}-${phase}-${receiverId}`,
    title: oneLine(`[${label}] ${ruleName}: ${subject.name}`),
    text: `${text}\n${workspace.name}`,
    url: consoleUrl + pathOf(alert),
    workspace,
    alert: {
      id,
      kind,
      rule: { id: ruleId, name: ruleName },
      subject,
      message,
      beganAt: new Date(createdAt).toISOString(),
      ...(endedAt !== undefined && { endedAt: new Date(endedAt).toISOString() }),
    },
  };
}

/** Returns the path and fragment of the console's screen about the item of an alert. */
function pathOf({ kind, subject: { type, id } }: Alert): string {
  if (kind === "dead-letters") return `/#/dead-letters?destinationId=${id}`;
  switch (type) {
    case "destination":
      return `/#/destinations/${id}`;
    case "transformation":
      return `/#/transformations/${id}`;
    case "source":
      return `/#/sources/${id}`;
    default:
      return "/#/system";
  }
}

/** Replaces line breaks and other control characters, which could add lines to a mail's head. */
function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are meant
  return text.replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, " ").slice(0, 200);
}
