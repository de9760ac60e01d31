import type { DryRun } from "../row-write.ts";
import type { LocalStore } from "../store.ts";
import type { OrderedView } from "./ordered-view.ts";

/** A call of `change` whose promise is not resolved or rejected yet. */
export interface PendingChange {
  apply: () => unknown;
  allowStale: boolean;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * Settles the promise of each call of `change` with the outcome of its dry run. The caller does
 * this after the commit.
 */
export function resolveChanges(
  changes: readonly PendingChange[],
  outcomes: DryRun["outcomes"],
): void {
  for (const [index, { resolve, reject }] of changes.entries()) {
    const outcome = outcomes[index]!;
    if (outcome.status === "fulfilled") resolve(outcome.value);
    else reject(outcome.reason);
  }
}

/**
 * Runs calls of `change` on a view without committing. `base` is the version of the view on which
 * they ran. It is undefined while the view lacks rows.
 */
export async function dryRunChanges(
  local: LocalStore,
  view: OrderedView,
  changes: readonly PendingChange[],
) {
  let base: number | undefined;
  const learn = () => {
    const { version, lacks } = view.position();
    base = lacks === undefined ? version : undefined;
  };
  const { outcomes, writes } = await local.dryRun([learn, ...changes.map(({ apply }) => apply)]);
  return { outcomes: outcomes.slice(1), writes, base };
}

/** Number of attempts from which `outrunState` blames the frequency of other nodes' changes. */
const FREQUENT_MIN = 20;

/**
 * Returns the part of an error message that describes the store after a change was given up. The
 * change was attempted `attempts` times in `ms` milliseconds, and each time a change of another
 * node took effect first.
 */
export function outrunState(attempts: number, ms: number): string {
  if (attempts >= FREQUENT_MIN) return "is changed too often by other nodes";
  const seconds = Math.round(ms / attempts / 1_000);
  const slow = `each of ${attempts} attempts took ${seconds} s, because brokers or this node are slow`;
  return `was not changed: ${slow}, and another node's change came first`;
}
