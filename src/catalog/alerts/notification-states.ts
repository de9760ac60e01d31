import { ALERT_ATTEMPTS_MAX } from "../../settings/limits.ts";
import type { AlertNotification, AlertPhase, NotificationResult } from "./model.ts";

/** A notification that waits to be sent. */
export function newNotification(receiverId: string, phase: AlertPhase): AlertNotification {
  return { receiverId, phase, state: "pending", attempts: 0 };
}

/**
 * Returns the notifications of an alert that ends. Drops notifications about the beginning that no
 * attempt was made to send, and does not repeat a notification that some addresses got. Adds a
 * notification about the end for each receiver that got, or may have got, the one about the
 * beginning.
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
 * Returns the notification `before` in the state that it has after an attempt to send it. `result`
 * is the result of this attempt.
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
