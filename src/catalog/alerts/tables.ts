import { type CatalogStore, keysBelow, LAST } from "../store.ts";
import { workspaceTable } from "../tables/workspace-table.ts";
import type { Alert, AlertMark, AlertReceiver, AlertRule, ReceiverState } from "./model.ts";

type SubjectKey = [workspaceId: string, ruleId: string, subjectId: string];
type AlertKey = [workspaceId: string, alertId: string];

/**
 * Lease on the evaluation of alert rules. Its holder is the only process of a cluster that
 * evaluates them.
 */
export interface LeaseRow {
  /** Id of the process that holds the lease on the evaluation of alert rules. */
  holder: string;
  /**
   * Number of times that the holder has renewed the lease. When this number stops growing, another
   * process takes the lease.
   */
  renewals: number;
}

/** Tables of alert rules, receivers, alerts, and the values that rules store about items. */
export type AlertTables = ReturnType<typeof openAlertTables>;

export function openAlertTables(store: CatalogStore) {
  const alerts = store.table<Alert, string>("alerts");
  const order = store.table<true, AlertKey>("alerts-order");
  const open = store.table<string, SubjectKey>("alerts-open");
  const pending = store.table<true, AlertKey>("alerts-pending");
  const marks = store.table<number, SubjectKey>("alert-marks");
  const leases = store.table<LeaseRow, string>("alert-evaluator-lease");

  const found = (ids: readonly string[]) =>
    ids.map((id) => alerts.get(id)).filter((alert) => alert !== undefined);

  function remove({ workspaceId, id }: Alert): void {
    alerts.remove(id);
    order.remove([workspaceId, id]);
    pending.remove([workspaceId, id]);
  }

  return {
    rules: workspaceTable<AlertRule>(store, "alert-rules", "Rule"),
    receivers: workspaceTable<AlertReceiver>(store, "alert-receivers", "Receiver"),
    receiverStates: store.table<ReceiverState, string>("alert-receiver-states"),
    find: (id: string): Alert | undefined => alerts.get(id),
    /** Returns the alerts of a workspace, newest first. */
    all: (workspaceId: string): Alert[] =>
      found([...order.getKeys(keysBelow(workspaceId))].map(([, id]) => id)).reverse(),
    /** Returns the open alerts of a workspace, oldest first. */
    open: (workspaceId: string): Alert[] =>
      found([...open.getRange(subjectRange(workspaceId))].map(({ value }) => value)).sort(byId),
    openOf: (workspaceId: string, ruleId: string, subjectId: string): string | undefined =>
      open.get([workspaceId, ruleId, subjectId]),
    /** Returns the alerts of a workspace that have notifications to send, oldest first. */
    pending: (workspaceId: string): Alert[] =>
      found([...pending.getKeys(keysBelow(workspaceId))].map(([, id]) => id)),
    /**
     * Returns the ids of the workspaces that have open alerts, or notifications that wait to be
     * sent.
     */
    active: (): string[] =>
      [...open.getKeys({}), ...pending.getKeys({})].map(([workspaceId]) => workspaceId),
    put(alert: Alert): void {
      const { id, workspaceId, ruleId, subject, endedAt, notifications } = alert;
      alerts.put(id, alert);
      order.put([workspaceId, id], true);
      const key: SubjectKey = [workspaceId, ruleId, subject.id];
      if (endedAt === undefined) open.put(key, id);
      else if (open.get(key) === id) open.remove(key);
      const isPending = notifications.some(({ state }) => state === "pending");
      if (isPending) pending.put([workspaceId, id], true);
      else pending.remove([workspaceId, id]);
    },
    /** Deletes a workspace's ended alerts that are older than the `max` newest of its alerts. */
    trim(workspaceId: string, max: number): void {
      const keys = [...order.getKeys(keysBelow(workspaceId))];
      for (const [, id] of keys.slice(0, Math.max(0, keys.length - max))) {
        const alert = alerts.get(id);
        if (alert?.endedAt !== undefined) remove(alert);
      }
    },
    marks(workspaceId: string, ruleId: string): ReadonlyMap<string, number> {
      const rows = [...marks.getRange(subjectRange(workspaceId, ruleId))];
      return new Map(rows.map(({ key, value }) => [key[2], value]));
    },
    setMark(workspaceId: string, { ruleId, subjectId, value }: AlertMark): void {
      const key: SubjectKey = [workspaceId, ruleId, subjectId];
      if (value === undefined) marks.remove(key);
      else marks.put(key, value);
    },
    removeMarks(workspaceId: string, ruleId: string): void {
      const keys = [...marks.getKeys(subjectRange(workspaceId, ruleId))];
      for (const key of keys) marks.remove(key);
    },
    lease: (): LeaseRow | undefined => leases.get("lease"),
    setLease(lease: LeaseRow | undefined): void {
      if (lease === undefined) leases.remove("lease");
      else leases.put("lease", lease);
    },
  };
}

const byId = (one: Alert, other: Alert) => (one.id < other.id ? -1 : 1);

function subjectRange(workspaceId: string, ruleId = ""): { start: SubjectKey; end: SubjectKey } {
  const last = ruleId === "" ? LAST : ruleId;
  return { start: [workspaceId, ruleId, ""], end: [workspaceId, last, LAST] };
}
