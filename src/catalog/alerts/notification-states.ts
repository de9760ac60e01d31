import { ALERT_ATTEMPTS_MAX } from "../../settings/limits.ts";
import type { AlertNotification, AlertPhase, NotificationResult } from "./model.ts";

/** Creates a notification that waits to be sent. */
export function newNotification(receiverId: string, phase: AlertPhase): AlertNotification {
  return { receiverId, phase, state: "pending", attempts: 0 };
}

/**
 * Returns the notifications of an alert that ends. Pending ones become `dropped` if never
 * attempted, or `sent` if some email addresses got them. Receivers whose notification is then sent
 * or pending get one about the end.
 */
export function notificationsAtEnd(
  notifications: readonly AlertNotification[],
): AlertNotification[] {
  const before = notifications.map((it): AlertNotification => {
    if (it.state !== "pending") return it;
    if (it.accepted !== undefined) return { ...it, state: "sent" };
    return it.attempts === 0 ? { ...it, state: "dropped" } : it;
  });
  const reached = before.filter(({ state }) => state === "pending" || state === "sent");
  return [...before, ...reached.map(({ receiverId }) => newNotification(receiverId, "end"))];
}

/**
 * Returns the notification `before` with the state that follows from `result`, the result of an
 * attempt to send it.
 */
export function afterAttempt(
  before: AlertNotification,
  result: NotificationResult,
): AlertNotification {
  if (result.kind === "sent") {
    const { reason: _, accepted: _a, ...rest } = before;
    return { ...rest, state: "sent" };
  }
  const { reason } = result;
  if (result.kind === "dropped") return { ...before, state: "dropped", reason };
  const accepted = [...(before.accepted ?? []), ...(result.accepted ?? [])];
  const after = { ...before, reason, ...(accepted.length > 0 && { accepted }) };
  if (before.attempts < ALERT_ATTEMPTS_MAX) return after;
  return { ...after, state: accepted.length > 0 ? "sent" : "failed" };
}
