import type { Alert, AlertPhase } from "../../catalog/alerts/model.ts";
import { duration } from "../conditions.ts";

/** Content of a notification, without the form of a receiver. */
export type AlertMessage = ReturnType<typeof alertMessage>;

interface MessageContext {
  phase: AlertPhase | "test";
  receiverId: string;
  /** URL of the console, without a slash at its end. */
  consoleUrl: string;
  workspace: { id: string; name: string };
}

/** Returns the text of a notification about an alert. */
export function alertMessage(alert: Alert, context: MessageContext) {
  const { id, kind, subject, message, ruleId, ruleName, createdAt, endedAt } = alert;
  const { phase, receiverId, consoleUrl, workspace } = context;
  const lasted = endedAt === undefined ? "" : ` after ${duration((endedAt - createdAt) / 1_000)}`;
  const text = phase === "end" ? `Resolved${lasted}: ${message}` : message;
  const label = { begin: "Alert", end: "Resolved", test: "Test" }[phase];
  return {
    phase,
    /** Key that is equal for all notifications of one alert, by which receivers group them. */
    dedupKey: `pixelmill-${id}`,
    /** Id that is equal for all attempts to send one notification. */
    id: `${id}-${phase}-${receiverId}`,
    /** One line without line breaks. */
    title: oneLine(`[${label}] ${ruleName}: ${subject.name}`),
    text: `${text}\n${workspace.name}`,
    /** Link to the item in the console. */
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
