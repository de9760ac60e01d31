import type { ChangeableItem } from "../model.ts";

/**
 * Kinds of alert rules, with what a rule evaluates: items of its own workspace, or the whole server
 * or cluster.
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

/** Whether rules of this kind watch the whole server, whose state other workspaces must not see. */
export function isServerAlertKind(kind: AlertKind): boolean {
  return alertSubjects[kind] === "server";
}

/** Daily period in which a rule's notifications wait. It may go past midnight. */
export interface QuietHours {
  /** Time of day such as `22:00`, in the time zone. */
  from: string;
  to: string;
  /** IANA name of a time zone, such as `Europe/Berlin`. */
  timeZone: string;
}

/** Condition under which an alert begins, and the receivers to which it is sent. */
export interface AlertRule extends ChangeableItem {
  name: string;
  kind: AlertKind;
  enabled: boolean;
  /** Value from which the condition holds, in the unit of the kind. Absent for most kinds. */
  threshold?: number;
  /** Time for which the condition must hold before an alert begins. */
  forSeconds: number;
  /** Time for which the condition must not hold before an alert ends. */
  clearSeconds: number;
  /** Ids of the items that the rule evaluates. Empty for all. */
  subjectIds: string[];
  /** Ids of the receivers of the rule's alerts. Empty for all. */
  receiverIds: string[];
  quietHours?: QuietHours;
}
export type AlertRuleInput = Omit<AlertRule, keyof ChangeableItem>;

export const receiverTypes = ["slack", "pagerduty", "webhook", "email"] as const;
export type ReceiverType = (typeof receiverTypes)[number];

/** Where notifications are sent. Contains secrets: the URL, the routing key, the authorization. */
export interface AlertReceiver extends ChangeableItem {
  name: string;
  type: ReceiverType;
  enabled: boolean;
  /** URL of Slack's webhook, of PagerDuty's Events API or of another receiver. */
  url?: string;
  /** Integration key of PagerDuty. */
  routingKey?: string;
  /** Value of the header `Authorization` of a webhook. */
  authorization?: string;
  to?: string[];
}
export type AlertReceiverInput = Omit<AlertReceiver, keyof ChangeableItem>;

/** Result of the last notifications to a receiver. */
export interface ReceiverState {
  /** Time of the last notification that was accepted. */
  sentAt?: number;
  /** Time of the first failed attempt since the last success. Absent after a success. */
  failingSince?: number;
  reason?: string;
}

export interface AlertSubject {
  type: "destination" | "transformation" | "source" | "server" | "node";
  id: string;
  name: string;
}

export type AlertPhase = "begin" | "end";

/** One message of an alert to one receiver: that the alert has begun, or has ended. */
export interface AlertNotification {
  receiverId: string;
  phase: AlertPhase;
  /** `dropped`: never sent, because the alert ended first or the receiver was removed. */
  state: "pending" | "sent" | "failed" | "dropped";
  /** Number of attempts that were begun. */
  attempts: number;
  /** Id of the process that began the last attempt. Stored before the attempt. */
  claim?: string;
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
  /** Time at which the alert began. */
  createdAt: number;
  /** Time at which the alert ended. Absent while it is open. */
  endedAt?: number;
  notifications: AlertNotification[];
}

/** A notification of an alert, as a key. */
export interface NotificationKey {
  alertId: string;
  receiverId: string;
  phase: AlertPhase;
}

/** Result of an attempt to send a notification. */
export type NotificationResult =
  | { kind: "sent" }
  | { kind: "retry"; reason: string }
  | { kind: "dropped"; reason: string };

/** A value that a rule remembers about an item, such as a number of dead letters. */
export interface AlertMark {
  ruleId: string;
  subjectId: string;
  /** New value; absent to forget the value. */
  value?: number;
}

/** Result of one evaluation of the rules of a workspace. */
export interface AlertChange {
  begun: Pick<Alert, "ruleId" | "subject" | "message">[];
  /** Ids of the alerts that end. */
  ended: string[];
  marks: AlertMark[];
}
