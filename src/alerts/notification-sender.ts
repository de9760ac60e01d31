import type { Alerts } from "../catalog/alerts/alerts.ts";
import type {
  Alert,
  AlertNotification,
  AlertReceiver,
  NotificationKey,
  NotificationResult,
  QuietHours,
} from "../catalog/alerts/model.ts";
import { backoffMs } from "../concurrency/backoff.ts";
import { TokenBuckets } from "../concurrency/rate-limiter.ts";
import { defined } from "../defined.ts";
import { ALERT_NOTIFICATIONS_PER_HOUR_MAX, ALERT_RETRY_MS_MAX } from "../settings/limits.ts";
import { isQuiet } from "./quiet-hours.ts";
import { type AlertMessage, alertMessage } from "./receivers/message.ts";
import type { SendNotification } from "./receivers/send.ts";

const RETRY_MS_MIN = 5_000;
/** Maximum number of notifications of one workspace that are sent at the same time. */
const BATCH_MAX = 20;

interface SenderContext {
  alerts: Alerts;
  send: SendNotification;
  workspaceName(id: string): string;
  consoleUrl(): string;
  /** Called after each attempt to send a notification. */
  onAttempt(result: NotificationResult): void;
  /** Returns the present time of a monotonic clock in milliseconds. */
  elapsed(): number;
  now(): number;
}

interface SendSignals {
  /** Aborts when the server stops: the sender begins no further attempts. */
  closing: AbortSignal;
  /**
   * Aborts when a stopping server has waited long enough for notifications: the sender then ends
   * the requests that are in progress.
   */
  cutting: AbortSignal;
}

interface Due {
  key: NotificationKey;
  alert: Alert;
  notification: AlertNotification;
  receiver: AlertReceiver;
}

type Settled = Parameters<Alerts["settle"]>[1][number];

/**
 * Sends pending notifications. Each attempt needs a claim in the catalog, which the catalog refuses
 * if this process has lost the evaluator's lease. An attempt whose result cannot be stored is not
 * repeated by this process.
 */
export class NotificationSender {
  readonly #budget: TokenBuckets;
  /**
   * Earliest time of the next attempt to send a notification, in milliseconds of the clock
   * `elapsed`, by the notification's key.
   */
  readonly #retryAt = new Map<string, number>();
  /** Results of sending attempts that are not yet in the catalog, by the notification's key. */
  readonly #unstored = new Map<string, Settled>();
  readonly #busy = new Map<string, Promise<void>>();

  constructor(private readonly parts: SenderContext) {
    // The limit per hour is the size of the bucket and the tokens added within the hour together.
    const half = ALERT_NOTIFICATIONS_PER_HOUR_MAX / 2;
    this.#budget = new TokenBuckets({
      perSecond: half / 3_600,
      burst: half,
      now: () => parts.elapsed(),
    });
  }

  /**
   * Counts one notification against a workspace's budget (maximum number per hour). Returns false,
   * and counts nothing, if the budget is used up.
   */
  takeFromBudget(workspaceId: string): boolean {
    if (this.#budget.waitSeconds(workspaceId) > 0) return false;
    this.#budget.take(workspaceId);
    return true;
  }

  /** Returns the content of a notification that tells a receiver about an alert. */
  messageOf(alert: Alert, phase: AlertMessage["phase"], receiverId: string): AlertMessage {
    const { consoleUrl, workspaceName } = this.parts;
    const { workspaceId: id } = alert;
    const workspace = { id, name: workspaceName(id) };
    return alertMessage(alert, { phase, receiverId, consoleUrl: consoleUrl(), workspace });
  }

  /**
   * Sends a workspace's due notifications. While an earlier call for this workspace is still
   * sending, a new call sends nothing itself and resolves with the earlier one.
   */
  sendDue(workspaceId: string, holder: string, signals: SendSignals): Promise<void> {
    return this.#busy.getOrInsertComputed(workspaceId, () =>
      this.#sendAll(workspaceId, holder, signals).finally(() => this.#busy.delete(workspaceId)),
    );
  }

  /** Resolves once the notifications in progress have been sent or have failed. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#busy.values());
  }

  async #sendAll(
    workspaceId: string,
    holder: string,
    { closing, cutting }: SendSignals,
  ): Promise<void> {
    // A time that has passed no longer delays an attempt.
    for (const [key, at] of this.#retryAt)
      if (at <= this.parts.elapsed()) this.#retryAt.delete(key);
    while (!closing.aborted) {
      await this.#storeResults(holder);
      const { due, dropped } = this.#due(workspaceId);
      if (dropped.length > 0) await this.parts.alerts.settle(holder, dropped);
      if (due.length === 0) return;
      const keys = due.map(({ key }) => key);
      const claimed = new Set((await this.parts.alerts.claim(holder, keys)).map(textOf));
      const sent = due.filter(({ key }) => claimed.has(textOf(key)));
      await Promise.all(sent.map((it) => this.#send(it, cutting)));
      await this.#storeResults(holder);
    }
  }

  async #send({ key, alert, notification, receiver }: Due, signal: AbortSignal): Promise<void> {
    const { send, onAttempt, elapsed } = this.parts;
    const message = this.messageOf(alert, key.phase, receiver.id);
    const { accepted = [] } = notification;
    const to = receiver.to?.filter((address) => !accepted.includes(address));
    const result: NotificationResult =
      to?.length === 0
        ? { kind: "sent" }
        : await send({ ...receiver, ...defined({ to }) }, message, signal);
    // The server stops: whether the receiver has the notification is unknown.
    if (signal.aborted && result.kind !== "sent") return;
    onAttempt(result);
    const text = textOf(key);
    this.#unstored.set(text, { key, result });
    if (result.kind === "retry") {
      const delay = backoffMs(notification.attempts + 1, RETRY_MS_MIN, ALERT_RETRY_MS_MAX);
      this.#retryAt.set(text, elapsed() + delay);
    }
  }

  async #storeResults(holder: string): Promise<void> {
    const results = [...this.#unstored.values()];
    if (results.length === 0) return;
    await this.parts.alerts.settle(holder, results);
    for (const { key } of results) this.#unstored.delete(textOf(key));
  }

  /**
   * Returns up to `BATCH_MAX` notifications to send (`due`), and those to drop. Counts each
   * notification in `due` against the workspace's hourly budget. Notifications with fewer attempts
   * come first, because retries to a failing receiver could use up the budget.
   */
  #due(workspaceId: string): { due: Due[]; dropped: Settled[] } {
    const { alerts } = this.parts;
    const receivers = byId(alerts.receivers.list(workspaceId, 1).items);
    const waiting: Due[] = [];
    const dropped: Settled[] = [];
    for (const alert of alerts.pending(workspaceId)) {
      for (const notification of alert.notifications) {
        if (notification.state !== "pending") continue;
        const { receiverId, phase } = notification;
        const key = { alertId: alert.id, receiverId, phase };
        if (this.#unstored.has(textOf(key))) continue;
        const receiver = receivers.get(receiverId);
        const reason = dropReason(alert, notification, receiver);
        if (reason !== undefined) dropped.push({ key, result: { kind: "dropped", reason } });
        // A notification without a receiver has a reason to be dropped, so this one has a receiver.
        else waiting.push({ key, alert, notification, receiver: receiver! });
      }
    }
    waiting.sort((one, other) => one.notification.attempts - other.notification.attempts);
    const rules = byId(alerts.rules.list(workspaceId, 1).items);
    const due = waiting
      .values()
      .filter((it) => this.#isDue(it, rules.get(it.alert.ruleId)?.quietHours))
      .take(BATCH_MAX);
    return { due: [...due], dropped };
  }

  #isDue({ alert, key, receiver }: Due, quietHours: QuietHours | undefined): boolean {
    const { elapsed, now } = this.parts;
    if ((this.#retryAt.get(textOf(key)) ?? 0) > elapsed()) return false;
    const isEnd = key.phase === "end";
    const isBeginPending = beginningOf(alert, receiver.id)?.state === "pending";
    if (isEnd && isBeginPending) return false;
    // An incident in PagerDuty escalates until it is resolved, so its end does not wait.
    const isUrgent = isEnd && receiver.type === "pagerduty";
    if (quietHours && !isUrgent && isQuiet(quietHours, now())) return false;
    return this.takeFromBudget(alert.workspaceId);
  }
}

/** Returns why a notification is dropped without an attempt to send it; undefined to send it. */
function dropReason(
  alert: Alert,
  { receiverId }: AlertNotification,
  receiver: AlertReceiver | undefined,
): string | undefined {
  if (!receiver?.enabled) return "The receiver was removed or disabled";
  // A notification about the beginning is itself pending, so `begin` has a result only for one
  // about the end.
  const begin = beginningOf(alert, receiverId)?.state;
  const isMissed = begin === "failed" || begin === "dropped";
  return isMissed ? "The receiver did not get the beginning" : undefined;
}

const byId = <T extends { id: string }>(items: readonly T[]) =>
  new Map(items.map((it) => [it.id, it]));

const beginningOf = ({ notifications }: Alert, receiverId: string) =>
  notifications.find((it) => it.phase === "begin" && it.receiverId === receiverId);

const textOf = ({ alertId, receiverId, phase }: NotificationKey) =>
  `${alertId} ${receiverId} ${phase}`;
