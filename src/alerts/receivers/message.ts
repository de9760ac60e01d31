import type { Alert, AlertPhase } from "../../catalog/alerts/model.ts";
import { cutText } from "../../errors.ts";
import { duration } from "../conditions.ts";

/** Content of a notification, before it is converted to the format of a receiver's type. */
export type AlertMessage = ReturnType<typeof alertMessage>;

interface MessageContext {
  phase: AlertPhase | "test";
  receiverId: string;
  /** URL of the console, without a slash at its end. */
  consoleUrl: string;
  workspace: { id: string; name: string };
}

/** Returns the content of a notification about an alert. */
export function alertMessage(alert: Alert, context: MessageContext) {
  const { id, kind, subject, message, ruleId, ruleName, createdAt, endedAt } = alert;
  const { phase, receiverId, consoleUrl, workspace } = context;
  const lasted = endedAt === undefined ? "" : ` after ${duration((endedAt - createdAt) / 1_000)}`;
  const text = phase === "end" ? `Resolved${lasted}: ${message}` : message;
  const label = { begin: "Alert", end: "Resolved", test: "Test" }[phase];
  return {
    phase,
    /** Key that all notifications of one alert have, so that receivers can group them. */
    dedupKey: `pixelmill-${id}`,
    /** Id of the notification. Each attempt to send it has the same id. */
    id: `${id}-${phase}-${receiverId}`,
    /** Title on one line, without control characters. */
    title: oneLine(`[${label}] ${ruleName}: ${subject.name}`),
    text: `${text}\n${workspace.name}`,
    /** Link to the console's screen that shows the item of the alert. */
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

/** Returns the path and fragment of the console's screen that shows the item of an alert. */
function pathOf({ kind, subject: { type, id } }: Alert): string {
  if (kind === "dead-letters") return `/#/dead-letters?destinationId=${id}`;
  const hasScreen = type === "destination" || type === "transformation" || type === "source";
  return hasScreen ? `/#/${type}s/${id}` : "/#/system";
}

/** Replaces control characters by spaces. A line break could add header lines to a mail. */
function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are meant
  return cutText(text.replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, " "), 200);
}
