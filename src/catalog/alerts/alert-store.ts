import type { CatalogPage } from "../model.ts";
import type {
  Alert,
  AlertChange,
  AlertReceiver,
  AlertReceiverInput,
  AlertRule,
  AlertRuleInput,
  NotificationKey,
  NotificationResult,
  ReceiverState,
} from "./model.ts";
import type { LeaseRow } from "./tables.ts";

interface AlertItems<T> {
  remove(workspaceId: string, id: string): Promise<void>;
  get(workspaceId: string, id: string): T;
  list(workspaceId: string, page: number): CatalogPage<T>;
}

interface AlertRules extends AlertItems<AlertRule> {
  create(workspaceId: string, input: AlertRuleInput): Promise<AlertRule>;
  /** Replaces a rule. `change` computes it inside the transaction, and may throw. */
  update(
    workspaceId: string,
    id: string,
    change: (before: AlertRule) => AlertRuleInput,
  ): Promise<AlertRule>;
}

interface AlertReceivers extends AlertItems<AlertReceiver> {
  /** Creates a receiver. The first receiver of a workspace without rules also creates `firstRules`. */
  create(
    workspaceId: string,
    input: AlertReceiverInput,
    firstRules: readonly AlertRuleInput[],
  ): Promise<AlertReceiver>;
  /** Replaces a receiver. `change` computes it inside the transaction, and may throw. */
  update(
    workspaceId: string,
    id: string,
    change: (before: AlertReceiver) => AlertReceiverInput,
  ): Promise<AlertReceiver>;
  state(id: string): ReceiverState;
  /** Stores the result of a test notification in the receiver's state. */
  note(id: string, result: NotificationResult): Promise<void>;
}

/**
 * Alert rules, receivers and alerts of the workspaces. One process of a cluster holds the lease of
 * the alert evaluator. Only its calls of `record`, `claim` and `settle` take effect; those of other
 * processes reject with `conflict`.
 */
export interface Alerts {
  rules: AlertRules;
  receivers: AlertReceivers;
  /** Lists alerts, newest first. */
  list(workspaceId: string, page: number, state?: "open" | "ended"): CatalogPage<Alert>;
  open(workspaceId: string): Alert[];
  /** Returns the alerts with notifications that wait to be sent, oldest first. */
  pending(workspaceId: string): Alert[];
  /** Returns the values that a rule remembers about items, by the item's id. */
  marks(workspaceId: string, ruleId: string): ReadonlyMap<string, number>;
  /** Returns the ids of the workspaces with receivers, open alerts or unsent notifications. */
  workspaces(): string[];
  lease(): LeaseRow | undefined;
  /** Makes a process the holder of the lease, if the lease is still as in `seen`. */
  takeLease(holder: string, seen: LeaseRow | undefined): Promise<void>;
  renewLease(holder: string): Promise<void>;
  releaseLease(holder: string): Promise<void>;
  /** Stores the result of one evaluation of a workspace's rules. */
  record(holder: string, workspaceId: string, change: AlertChange): Promise<void>;
  /**
   * Claims notifications before they are sent, and counts the attempt. Resolves with those that
   * still wait to be sent.
   */
  claim(holder: string, keys: readonly NotificationKey[]): Promise<NotificationKey[]>;
  settle(
    holder: string,
    results: readonly { key: NotificationKey; result: NotificationResult }[],
  ): Promise<void>;
}
