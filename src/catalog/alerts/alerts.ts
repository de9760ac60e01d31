import { ApiError } from "../../errors.ts";
import {
  ALERT_RECEIVERS_OF_WORKSPACE_MAX,
  ALERT_RULES_OF_WORKSPACE_MAX,
  ALERTS_KEPT_OF_WORKSPACE_MAX,
  ALERTS_OPEN_OF_WORKSPACE_MAX,
  PAGE_ITEMS_MAX,
} from "../../settings/limits.ts";
import { newId } from "../ids.ts";
import { changeTime, newItem } from "../management/item-times.ts";
import type { ChangeableItem } from "../model.ts";
import { type CatalogStore, inTransactions } from "../store.ts";
import type { WorkspaceTable } from "../tables/workspace-table.ts";
import type {
  Alert,
  AlertChange,
  AlertNotification,
  AlertReceiver,
  AlertReceiverInput,
  AlertRule,
  AlertRuleInput,
  NotificationKey,
  NotificationResult,
  ReceiverState,
} from "./model.ts";
import { afterAttempt, newNotification, notificationsAtEnd } from "./notification-states.ts";
import type { AlertTables, LeaseRow } from "./tables.ts";

/**
 * Alert rules, receivers and alerts of all workspaces. In a cluster, only the process that holds
 * the lease of the alert evaluator may call `record`, `claim` and `settle`. Called by another
 * process, these functions reject with `conflict`.
 */
export type Alerts = ReturnType<typeof openAlerts>;

/** Opens the part of the catalog that stores alert rules, receivers and alerts. */
export function openAlerts(store: CatalogStore, tables: AlertTables) {
  const { rules, receivers, receiverStates } = tables;

  function putRule(workspaceId: string, input: AlertRuleInput): AlertRule {
    const rule = newItem(workspaceId, input);
    expectReceivers(rule);
    rules.put(rule);
    return rule;
  }

  function expectReceivers({ workspaceId, receiverIds }: AlertRule): void {
    for (const id of receiverIds) receivers.get(workspaceId, id);
  }

  /** Throws `conflict` unless `holder` has the lease of the alert evaluator. */
  function expectLease(holder: string): void {
    if (tables.lease()?.holder !== holder) {
      throw new ApiError("conflict", "Another node evaluates the alert rules now");
    }
  }

  function receiversOf(rule: AlertRule): string[] {
    const all = receivers.list(rule.workspaceId, 1).items.filter(({ enabled }) => enabled);
    const chosen =
      rule.receiverIds.length === 0 ? all : all.filter(({ id }) => rule.receiverIds.includes(id));
    return chosen.map(({ id }) => id);
  }

  function begin(workspaceId: string, { ruleId, subject, message }: AlertChange["begun"][number]) {
    const rule = rules.find(ruleId);
    if (rule?.workspaceId !== workspaceId || !rule.enabled) return;
    if (tables.openOf(workspaceId, ruleId, subject.id) !== undefined) return;
    const now = Date.now();
    tables.put({
      id: newId(now),
      workspaceId,
      ruleId,
      ruleName: rule.name,
      kind: rule.kind,
      subject,
      message,
      createdAt: now,
      notifications: receiversOf(rule).map((receiverId) => newNotification(receiverId, "begin")),
    });
  }

  function end(workspaceId: string, id: string): void {
    const alert = tables.find(id);
    if (alert?.workspaceId !== workspaceId || alert.endedAt !== undefined) return;
    tables.put({
      ...alert,
      endedAt: Date.now(),
      notifications: notificationsAtEnd(alert.notifications),
    });
  }

  function noteState(receiverId: string, result: NotificationResult): void {
    if (result.kind === "dropped" || receivers.find(receiverId) === undefined) return;
    const now = Date.now();
    const { sentAt, failingSince = now } = receiverStates.get(receiverId) ?? {};
    receiverStates.put(
      receiverId,
      result.kind === "sent"
        ? { sentAt: now }
        : { ...(sentAt !== undefined && { sentAt }), failingSince, reason: result.reason },
    );
  }

  return {
    rules: {
      ...inTransactions(store, {
        create(workspaceId: string, input: AlertRuleInput) {
          expectRoom("rules", rules.count(workspaceId), ALERT_RULES_OF_WORKSPACE_MAX);
          return putRule(workspaceId, input);
        },
        /** Calls `change` with the stored rule, and stores its result in place of the rule. */
        update: updater(rules, expectReceivers),
        remove(workspaceId: string, id: string) {
          rules.remove(rules.get(workspaceId, id));
          tables.removeMarks(workspaceId, id);
        },
      }),
      get: rules.get,
      list: rules.list,
    },
    receivers: {
      ...inTransactions(store, {
        /**
         * Creates a receiver. If this is the workspace's first receiver and the workspace has no
         * rules, also creates the rules `firstRules`.
         */
        create(
          workspaceId: string,
          input: AlertReceiverInput,
          firstRules: readonly AlertRuleInput[],
        ) {
          const count = receivers.count(workspaceId);
          expectRoom("receivers", count, ALERT_RECEIVERS_OF_WORKSPACE_MAX);
          const receiver: AlertReceiver = newItem(workspaceId, input);
          receivers.put(receiver);
          if (count === 0 && rules.count(workspaceId) === 0) {
            for (const rule of firstRules) putRule(workspaceId, rule);
          }
          return receiver;
        },
        /** Replaces a receiver with what the parameter `change` returns for the stored receiver. */
        update: updater(receivers),
        remove(workspaceId: string, id: string) {
          receivers.remove(receivers.get(workspaceId, id));
          receiverStates.remove(id);
          for (const rule of rules.list(workspaceId, 1).items) {
            if (!rule.receiverIds.includes(id)) continue;
            const receiverIds = rule.receiverIds.filter((it) => it !== id);
            // An empty list means all receivers, so a rule that loses its last receiver is
            // disabled.
            const isLast = receiverIds.length === 0;
            rules.put({ ...rule, receiverIds, ...(isLast && { enabled: false }) });
          }
        },
        /** Updates the state of a receiver with the outcome of a test notification to it. */
        note: noteState,
      }),
      get: receivers.get,
      list: receivers.list,
      state: (id: string): ReceiverState => receiverStates.get(id) ?? {},
    },
    /** Returns a page of a workspace's alerts: first open ones, then ended ones, newest first. */
    list(workspaceId: string, page: number, state?: "open" | "ended") {
      const { open = [], ended = [] } = Object.groupBy(tables.all(workspaceId), ({ endedAt }) =>
        endedAt === undefined ? "open" : "ended",
      );
      const all = state === undefined ? [...open, ...ended] : state === "open" ? open : ended;
      const start = (page - 1) * PAGE_ITEMS_MAX;
      return { items: all.slice(start, start + PAGE_ITEMS_MAX), total: all.length };
    },
    open: tables.open,
    /** Returns a workspace's alerts that have notifications to send, oldest first. */
    pending: tables.pending,
    /** Returns the values that a rule has stored about items (see `AlertMark`), by item id. */
    marks: tables.marks,
    /** Returns the ids of the workspaces with receivers, open alerts or unsent notifications. */
    workspaces: () => [
      ...new Set([...receivers.all().map((it) => it.workspaceId), ...tables.active()]),
    ],
    ...openLease(store, tables),
    ...inTransactions(store, {
      /** Stores one evaluation's changes. Omits new alerts above the limit of open alerts. */
      record(holder: string, workspaceId: string, { begun, ended, marks }: AlertChange) {
        expectLease(holder);
        for (const id of ended) end(workspaceId, id);
        const room = ALERTS_OPEN_OF_WORKSPACE_MAX - tables.open(workspaceId).length;
        for (const alert of begun.slice(0, Math.max(0, room))) begin(workspaceId, alert);
        for (const mark of marks) {
          if (rules.find(mark.ruleId) !== undefined) tables.setMark(workspaceId, mark);
        }
        tables.trim(workspaceId, ALERTS_KEPT_OF_WORKSPACE_MAX);
      },
      /**
       * Records that `holder` begins an attempt to send each notification in `keys` that still
       * waits to be sent, and counts the attempt. Resolves with the keys of these notifications.
       */
      claim(holder: string, keys: readonly NotificationKey[]) {
        expectLease(holder);
        return keys.filter((key) =>
          changeNotification(tables, key, (it) => ({
            ...it,
            attempts: it.attempts + 1,
            claim: holder,
          })),
        );
      },
      settle(
        holder: string,
        results: readonly { key: NotificationKey; result: NotificationResult }[],
      ) {
        expectLease(holder);
        for (const { key, result } of results) {
          changeNotification(tables, key, (it) => afterAttempt(it, result));
          noteState(key.receiverId, result);
        }
      },
    }),
  };
}

/** Creates the functions that read, take, renew and release the lease of the alert evaluator. */
function openLease(store: CatalogStore, tables: AlertTables) {
  return {
    lease: tables.lease,
    ...inTransactions(store, {
      /**
       * Makes the process `holder` the holder of the lease. Does nothing if the stored lease
       * differs from `seen`, the lease that the caller read before.
       */
      takeLease(holder: string, seen: LeaseRow | undefined) {
        const lease = tables.lease();
        if (lease?.holder !== seen?.holder || lease?.renewals !== seen?.renewals) return;
        tables.setLease({ holder, renewals: 0 });
      },
      renewLease(holder: string) {
        const lease = tables.lease();
        if (lease?.holder === holder) tables.setLease({ holder, renewals: lease.renewals + 1 });
      },
      releaseLease(holder: string) {
        if (tables.lease()?.holder === holder) tables.setLease(undefined);
      },
    }),
  };
}

type Input<T extends ChangeableItem> = Omit<T, keyof ChangeableItem>;

/**
 * Returns a function that replaces an item of `table`. Its parameter `change` makes the new item
 * from the stored one. `check`, if given, throws if the new item must not be stored.
 */
function updater<T extends ChangeableItem>(table: WorkspaceTable<T>, check?: (after: T) => void) {
  return (workspaceId: string, id: string, change: (before: Input<T>) => Input<T>): T => {
    const before = table.get(workspaceId, id);
    const { id: _, workspaceId: _w, createdAt, updatedAt: _u, ...input } = before;
    const times = { createdAt, updatedAt: changeTime(before) };
    // TypeScript does not see that the fields of a `ChangeableItem` and the others make a `T`.
    const after = { id, workspaceId, ...change(input), ...times } as T;
    check?.(after);
    table.put(after);
    return after;
  };
}

/**
 * Replaces a notification with the result of `change`, if the notification still waits to be sent.
 * Returns whether it was replaced.
 */
function changeNotification(
  tables: AlertTables,
  { alertId, receiverId, phase }: NotificationKey,
  change: (before: AlertNotification) => AlertNotification,
): boolean {
  const alert = tables.find(alertId);
  const isMeant = (it: AlertNotification) =>
    it.receiverId === receiverId && it.phase === phase && it.state === "pending";
  if (!alert?.notifications.some(isMeant)) return false;
  const notifications = alert.notifications.map((it) => (isMeant(it) ? change(it) : it));
  const next: Alert = { ...alert, notifications };
  tables.put(next);
  return true;
}

function expectRoom(items: string, count: number, max: number): void {
  if (count < max) return;
  throw new ApiError("conflict", `Expected at most ${max} ${items} for alerts, got one more`);
}
