import type { ChangeableItem } from "../model.ts";

/**
 * Subject of each kind of alert rule: a type of items in the rule's workspace, or `server` for the
 * whole server or cluster.
 */
export const alertSubjects = {
  "destination-down": "destination",
  "destination-failing": "destination",
  "dead-letters": "destination",
  lag: "destination",
  "code-suspended": "transformation",
  "source-silent": "source",
  "server-not-ready": "server",
  "server-warning": "server",
  "nodes-missing": "server",
  disk: "server",
} as const;
export type AlertKind = keyof typeof alertSubjects;
export const alertKinds = Object.keys(alertSubjects) as AlertKind[];

/**
 * Whether rules of this kind watch the whole server. Only the operator's workspace has such rules.
 */
export function isServerAlertKind(kind: AlertKind): boolean {
  return alertSubjects[kind] === "server";
}

/** Daily period in which a rule's notifications are held back. The period may go past midnight. */
export interface QuietHours {
  /** Time of day at which the quiet hours begin, such as `22:00`, in the time zone `timeZone`. */
  from: string;
  to: string;
  /** IANA name of a time zone, such as `Europe/Berlin`. */
  timeZone: string;
}

/** Condition under which an alert begins, and the receivers to which the alert is sent. */
export interface AlertRule extends ChangeableItem {
  name: string;
  kind: AlertKind;
  enabled: boolean;
  /**
   * Limit for the value that the rule measures, absent for kinds of rules without a limit. The
   * condition holds at or above the limit. For the number of nodes and for free disk space, the
   * condition holds below the limit.
   */
  threshold?: number;
  /** Time in seconds for which the rule's condition must hold before an alert begins. */
  forSeconds: number;
  /** Time in seconds for which the rule's condition must stay false before an alert ends. */
  clearSeconds: number;
  /** Ids of the items to which the rule applies. An empty list means all items of their type. */
  subjectIds: string[];
  /** Ids of the receivers of the rule's alerts. An empty list means all receivers. */
  receiverIds: string[];
  quietHours?: QuietHours;
}
export type AlertRuleInput = Omit<AlertRule, keyof ChangeableItem>;

export const receiverTypes = ["slack", "pagerduty", "webhook", "email"] as const;
export type ReceiverType = (typeof receiverTypes)[number];

/** Place to which notifications are sent. Its URL, routing key and authorization are secret. */
export interface AlertReceiver extends ChangeableItem {
  name: string;
  type: ReceiverType;
  enabled: boolean;
  /** URL of Slack's webhook, of PagerDuty's Events API or of another receiver. */
  url?: string;
  /** Integration key with which notifications are sent to PagerDuty. */
  routingKey?: string;
  /** Value of the header `Authorization` in requests to a webhook. */
  authorization?: string;
  to?: string[];
}
export type AlertReceiverInput = Omit<AlertReceiver, keyof ChangeableItem>;

/** State of a receiver: whether it accepted the last notifications that were sent to it. */
export interface ReceiverState {
  /** Time of the last notification that the receiver accepted, in milliseconds since the epoch. */
  sentAt?: number;
  /**
   * Time, in milliseconds since the epoch, of the first failed attempt to send a notification after
   * the last successful attempt. Absent when the last attempt was successful.
   */
  failingSince?: number;
  reason?: string;
}

export interface AlertSubject {
  type: "destination" | "transformation" | "source" | "server" | "node";
  id: string;
  name: string;
}

export type AlertPhase = "begin" | "end";

/** A message that tells one receiver that an alert has begun or ended. */
export interface AlertNotification {
  receiverId: string;
  phase: AlertPhase;
  /**
   * State of the notification. `dropped` means that it will never be sent: the alert ended before
   * the first attempt, the receiver was removed or disabled, or the receiver did not get the
   * notification about the alert's beginning.
   */
  state: "pending" | "sent" | "failed" | "dropped";
  /** Number of attempts to send the notification, including one in progress. */
  attempts: number;
  /**
   * Id of the process that began the last attempt to send the notification. It is stored before the
   * attempt begins.
   */
  claim?: string;
  /**
   * Email addresses for which the mail server accepted the notification. Present only when the mail
   * server refused other addresses of the same receiver.
   */
  accepted?: readonly string[];
  reason?: string;
}

/** One period in which the condition of a rule held for one item (the subject). */
export interface Alert {
  id: string;
  workspaceId: string;
  ruleId: string;
  ruleName: string;
  kind: AlertKind;
  subject: AlertSubject;
  message: string;
  /** Time at which the alert began, in milliseconds since the epoch. */
  createdAt: number;
  /** Time at which the alert ended, in milliseconds since the epoch. Absent for an open alert. */
  endedAt?: number;
  notifications: AlertNotification[];
}

/**
 * Identifies a notification by its alert, its receiver, and whether it is about the alert's
 * beginning or end.
 */
export interface NotificationKey {
  alertId: string;
  receiverId: string;
  phase: AlertPhase;
}

/**
 * Result of one attempt to send a notification. `accepted` has the email addresses that the mail
 * server accepted. It is present only when the server refused other addresses of the receiver.
 */
export type NotificationResult =
  | { kind: "sent" }
  | { kind: "retry"; reason: string; accepted?: readonly string[] }
  | { kind: "dropped"; reason: string };

/**
 * Value about one item that a rule watches, such as a destination's number of dead letters. The
 * rule stores the value for later evaluations.
 */
export interface AlertMark {
  ruleId: string;
  subjectId: string;
  /** New value that an alert rule stores about an item. Absent to delete the stored value. */
  value?: number;
}

/**
 * Changes to store after one evaluation of a workspace's rules: alerts that begin, alerts that end,
 * and values that rules store about items.
 */
export interface AlertChange {
  begun: Pick<Alert, "ruleId" | "subject" | "message">[];
  /** Ids of the open alerts that this evaluation ends. */
  ended: string[];
  marks: AlertMark[];
}
