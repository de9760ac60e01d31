import {
  type AlertKind,
  type AlertRuleInput,
  alertKinds,
  isServerAlertKind,
} from "../catalog/alerts/model.ts";

/** Defaults and bounds of all alert rules of one kind. */
interface RuleKind {
  /** Name that a rule of this kind gets if its creator gives it no name. */
  name: string;
  /**
   * Defaults, in seconds. `forSeconds`: how long the condition must hold before an alert begins.
   * `clearSeconds`: how long it must be false before the alert ends.
   */
  forSeconds: number;
  clearSeconds: number;
  /** Unit, default and bounds of a rule's threshold. Absent for kinds without a threshold. */
  threshold?: { unit: string; fallback: number; min: number; max: number };
  /** Severity of the alerts in PagerDuty. */
  severity: "critical" | "error" | "warning";
}

const DAY_SECONDS = 86_400;

export const ruleKinds: Readonly<Record<AlertKind, RuleKind>> = {
  "destination-down": {
    name: "Destination down",
    forSeconds: 60,
    clearSeconds: 60,
    severity: "critical",
  },
  "destination-failing": {
    name: "Destination failing or down",
    forSeconds: 120,
    clearSeconds: 120,
    severity: "error",
  },
  "dead-letters": {
    name: "Dead letters growing",
    forSeconds: 0,
    clearSeconds: 900,
    threshold: { unit: "dead letters", fallback: 10, min: 1, max: 1_000_000_000 },
    severity: "error",
  },
  lag: {
    name: "Delivery lag",
    forSeconds: 60,
    clearSeconds: 300,
    threshold: { unit: "seconds", fallback: 900, min: 1, max: 30 * DAY_SECONDS },
    severity: "warning",
  },
  "code-suspended": {
    name: "Transformation suspended",
    forSeconds: 30,
    // Suspended code is tried again from time to time, and does not count as suspended meanwhile.
    clearSeconds: 600,
    severity: "error",
  },
  "source-silent": {
    name: "Source silent",
    forSeconds: 3_600,
    clearSeconds: 0,
    severity: "warning",
  },
  "server-not-ready": {
    name: "Server not ready",
    forSeconds: 30,
    clearSeconds: 60,
    severity: "critical",
  },
  "server-warning": {
    name: "Server warnings",
    forSeconds: 300,
    clearSeconds: 300,
    severity: "warning",
  },
  "nodes-missing": {
    name: "Nodes missing",
    forSeconds: 60,
    clearSeconds: 60,
    threshold: { unit: "nodes", fallback: 2, min: 2, max: 1_000 },
    severity: "error",
  },
  disk: {
    name: "Disk nearly full",
    forSeconds: 60,
    clearSeconds: 300,
    threshold: { unit: "percent free", fallback: 10, min: 1, max: 99 },
    severity: "error",
  },
};

/** Returns a rule of the given kind, with the kind's default values and no receivers. */
export function defaultRule(kind: AlertKind): AlertRuleInput {
  const { name, forSeconds, clearSeconds, threshold } = ruleKinds[kind];
  return {
    name,
    kind,
    enabled: true,
    ...(threshold && { threshold: threshold.fallback }),
    forSeconds,
    clearSeconds,
    subjectIds: [],
    receiverIds: [],
  };
}

/**
 * Returns the rules that are created with a workspace's first receiver. The operator's workspace
 * also gets rules about the server; the rule about missing nodes only if the cluster has more than
 * one node (`nodes`).
 */
export function firstRules(isOperators: boolean, nodes: number): AlertRuleInput[] {
  // `destination-failing` covers `destination-down`: with both, one outage would cause two alerts.
  return alertKinds
    .filter((kind) => kind !== "destination-down" && (isOperators || !isServerAlertKind(kind)))
    .filter((kind) => kind !== "nodes-missing" || nodes > 1)
    .map((kind) =>
      kind === "nodes-missing" ? { ...defaultRule(kind), threshold: nodes } : defaultRule(kind),
    );
}
