import { setTimeout as sleep } from "node:timers/promises";
import { Counter, Gauge } from "prom-client";
import type { Alert, AlertReceiver, NotificationResult } from "../catalog/alerts/model.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { atMost, FairSemaphore } from "../concurrency/fair-semaphore.ts";
import { ApiError } from "../errors.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { ALERT_EVALUATION_MS, ALERT_NOTIFICATIONS_PER_HOUR_MAX } from "../settings/limits.ts";
import { EvaluatorLease } from "./evaluator-lease.ts";
import type { AlertFacts } from "./facts.ts";
import { NotificationSender } from "./notification-sender.ts";
import type { SendNotification } from "./receivers/send.ts";
import { isEmpty, RuleEvaluator } from "./rule-evaluator.ts";

/** Maximum number of workspaces whose alert rules are evaluated at the same time. */
const EVALUATIONS_MAX = 16;

/** Maximum milliseconds that a stopping server waits for the notifications that it is sending. */
const CLOSE_MS_MAX = 2_000;

interface AlertingParts {
  catalog: Pick<Catalog, "alerts" | "workspaces" | "current">;
  send: SendNotification;
  /** Returns the console's URL for links in notifications, without a slash at its end. */
  consoleUrl(): string;
  /**
   * Whether other nodes share the catalog. If so, the process that evaluates the rules must
   * regularly renew its lease (the sole right to evaluate them).
   */
  isShared: boolean;
  /** Returns whether the operator has set a mail server. */
  hasMailServer(): boolean;
  logger: Logger;
  metrics: Metrics;
  /** Returns the present time of a monotonic clock in milliseconds. Default: `performance.now`. */
  elapsed?(): number;
  now?(): number;
}

type FactsOf = (workspaceId: string) => Promise<AlertFacts>;

/** The part of the server that evaluates alert rules and sends notifications to receivers. */
export type Alerting = ReturnType<typeof createAlerting>;

export function createAlerting(parts: AlertingParts) {
  const { catalog, send, consoleUrl, logger } = parts;
  const { alerts } = catalog;
  const elapsed = parts.elapsed ?? (() => performance.now());
  /**
   * Controllers with which `close` stops this service.
   * - `closing` ends evaluations, lease renewals and test notifications, and prevents new attempts
   *   to send.
   * - `cutting` ends the requests to receivers that are in progress.
   */
  const closing = new AbortController();
  const cutting = new AbortController();
  const lease = new EvaluatorLease(alerts, parts.isShared);
  let evaluator = new RuleEvaluator(alerts, elapsed);
  const attempts = registerMetrics(parts, lease);
  const sender = new NotificationSender({
    alerts,
    send,
    workspaceName: (id) => catalog.workspaces.get(id)?.name ?? id,
    consoleUrl,
    onAttempt: ({ kind }) => attempts.inc({ result: kind === "sent" ? "sent" : "failed" }),
    elapsed,
    now: parts.now ?? Date.now,
  });
  const signals = { closing: closing.signal, cutting: cutting.signal };
  const evaluations = new FairSemaphore(EVALUATIONS_MAX, atMost(EVALUATIONS_MAX));
  const loops: Promise<void>[] = [];

  async function repeat(work: () => Promise<void>): Promise<void> {
    while (!closing.signal.aborted) {
      await work().catch(warn);
      // Ends early when the service is closed.
      await sleep(ALERT_EVALUATION_MS, undefined, { signal: closing.signal }).catch(() => {});
    }
  }

  async function evaluateWorkspace(workspaceId: string, facts: FactsOf): Promise<void> {
    using _permit = await evaluations.acquire("all", closing.signal);
    const change = evaluator.evaluate(workspaceId, await facts(workspaceId));
    if (!isEmpty(change)) await alerts.record(lease.id, workspaceId, change);
    // A slow receiver does not delay the next evaluation.
    sender.sendDue(workspaceId, lease.id, signals).catch(warn);
  }

  const warn = (error: unknown) => {
    if (!closing.signal.aborted) logger.warn({ err: error }, "alerts not evaluated or sent");
  };

  async function keepLease(): Promise<void> {
    if (alerts.workspaces().length === 0) return;
    // An older copy of the catalog would show the lease as it was before its last renewal.
    await catalog.current();
    await lease.renewOrTake();
  }

  async function evaluateAll(facts: FactsOf): Promise<void> {
    if (!lease.isHeld) {
      // Another process evaluates the rules now. When this process evaluates them again, its
      // measurements begin at 0.
      evaluator = new RuleEvaluator(alerts, elapsed);
      return;
    }
    const workspaces = alerts.workspaces();
    evaluator.keepOnly(workspaces);
    await Promise.all(workspaces.map((id) => evaluateWorkspace(id, facts).catch(warn)));
  }

  return {
    hasMailServer: parts.hasMailServer,
    /**
     * Evaluates all rules once and sends the due notifications, but only if this process holds the
     * lease of the alert evaluator.
     */
    async evaluate(facts: FactsOf): Promise<void> {
      await keepLease();
      await evaluateAll(facts);
    },
    /** Evaluates the rules repeatedly until `close` is called. `start` must not be called twice. */
    start(facts: FactsOf): void {
      // The lease has a loop of its own: an evaluation of many workspaces may take long.
      loops.push(
        repeat(keepLease),
        repeat(() => evaluateAll(facts)),
      );
    },
    /**
     * Sends a test notification. Throws `ApiError` if the workspace has already sent the maximum
     * number of notifications within an hour.
     */
    async test(receiver: AlertReceiver, signal: AbortSignal): Promise<NotificationResult> {
      if (!sender.takeFromBudget(receiver.workspaceId)) {
        const limit = `${ALERT_NOTIFICATIONS_PER_HOUR_MAX} notifications of a workspace in an hour`;
        throw new ApiError("too-many", `Expected at most ${limit}, tests included, got one more`);
      }
      const alert = testAlert(receiver);
      const either = AbortSignal.any([signal, closing.signal]);
      const send = (phase: "test" | "end") =>
        parts.send(receiver, sender.messageOf(alert, phase, receiver.id), either);
      let result = await send("test");
      // A test must not leave an open incident in PagerDuty.
      if (result.kind === "sent" && receiver.type === "pagerduty") result = await send("end");
      // A failure may be the stop's, which has aborted the request.
      const isCutOff = either.aborted && result.kind !== "sent";
      if (!isCutOff) await alerts.receivers.note(receiver.id, result);
      return result;
    },
    async close(): Promise<void> {
      closing.abort();
      const late = setTimeout(() => cutting.abort(), CLOSE_MS_MAX);
      await Promise.all([...loops, sender.idle()]);
      clearTimeout(late);
      await lease.release().catch((error: unknown) => {
        logger.warn({ err: error }, "lease of the alert evaluator not released");
      });
    },
  };
}

/** Returns a made-up alert for a test notification. */
function testAlert({ id, workspaceId, name }: AlertReceiver): Alert {
  return {
    id: `test-${id}`,
    workspaceId,
    ruleId: "test",
    ruleName: "Test",
    kind: "destination-failing",
    subject: { type: "server", id: "server", name },
    message: "This is a test notification. Nothing is wrong",
    createdAt: Date.now(),
    notifications: [],
  };
}

function registerMetrics({ catalog, metrics }: AlertingParts, lease: EvaluatorLease) {
  const registers = [metrics];
  new Gauge({
    name: "pixelmill_alerts_open",
    help: "Alerts that are open, of all workspaces; 0 at nodes that do not evaluate the alerts",
    registers,
    collect() {
      const { alerts } = catalog;
      const workspaces = lease.isHeld ? alerts.workspaces() : [];
      this.set(workspaces.reduce((sum, id) => sum + alerts.open(id).length, 0));
    },
  });
  return new Counter({
    name: "pixelmill_alert_notifications_total",
    help: "Attempts to send a notification of an alert, by result: sent or failed",
    labelNames: ["result"] as const,
    registers,
  });
}
