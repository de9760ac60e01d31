import type { DryRun } from "../row-write.ts";

/** A call of `change` whose promise is not resolved or rejected yet. */
export interface PendingChange {
  apply: () => unknown;
  allowStale: boolean;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** Settles the promise of each call of `change` with its outcome, after a commit. */
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
