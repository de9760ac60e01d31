import { withTimeLimit } from "../../concurrency/time-limit.ts";
import { ApiError } from "../../errors.ts";
import type { DryRun } from "../row-write.ts";
import type { LocalStore } from "../store.ts";
import type { OrderedView } from "./ordered-view.ts";

/** A call of `change` whose promise is not resolved or rejected yet. */
export interface PendingChange extends Pick<PromiseWithResolvers<unknown>, "resolve" | "reject"> {
  apply: () => unknown;
  allowStale: boolean;
  /** Maximum duration of this call of `change` in milliseconds. After it, the promise rejects. */
  msMax: number;
  /** Deadline (`performance.now()`): without a result by then, the promise of this call rejects. */
  until: number;
}

interface PendingChangeOptions extends Pick<PendingChange, "allowStale" | "msMax"> {
  /** Name of the store, with which error messages begin. */
  name: string;
}

/**
 * Creates a pending call of `change`, and the promise of its result. If the promise is not settled
 * `msMax` milliseconds after its creation, it rejects, even while the call is in progress.
 */
export function pendingChange<T>(
  apply: () => T,
  { allowStale, msMax, name }: PendingChangeOptions,
) {
  const { promise, ...settling } = Promise.withResolvers<unknown>();
  const until = performance.now() + msMax;
  const change: PendingChange = { apply, allowStale, msMax, until, ...settling };
  const late = () =>
    new ApiError(
      "unavailable",
      `${name} did not confirm a change within ${msMax / 1_000} s; it may still take effect`,
    );
  return { change, promise: withTimeLimit(promise as Promise<T>, msMax, late) };
}

/**
 * Rejects the calls of `change` whose time limit has passed, and returns the other calls. The error
 * message begins with the store's `name`, and contains the number of attempts to commit the calls.
 */
export function refuseLate(
  changes: readonly PendingChange[],
  name: string,
  attempts: number,
): readonly PendingChange[] {
  const now = performance.now();
  const isLate = ({ until }: PendingChange) => until <= now;
  for (const { reject, msMax } of changes.filter(isLate)) {
    reject(new ApiError("unavailable", `${name} ${outrunState(attempts, msMax)}`));
  }
  return changes.filter((it) => !isLate(it));
}

export const tooLargeError = (bytesMax: number) =>
  new ApiError("too-large", `Expected a change of at most ${bytesMax} bytes`);

/**
 * Settles the promise of each call of `change` with its result or error from the dry run. Must be
 * called only after the writes of the dry run have taken effect, or if it has no writes.
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
 * Runs calls of `change` on this node's view (local copy of the store), and rolls them back.
 * Returns their outcomes, their writes, and the view's version as `base`. If `base` is undefined,
 * the view lacks rows, and the results must not be used.
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

/**
 * Returns the part of an error message that says why a call of `change` was given up. The call was
 * attempted `attempts` times in `ms` milliseconds, and each time a change of another node took
 * effect first.
 */
function outrunState(attempts: number, ms: number): string {
  const seconds = Math.round(ms / attempts / 1_000);
  const took = attempts === 1 ? "the attempt took" : `each of ${attempts} attempts took`;
  return `was not changed: ${took} ${seconds} s, because brokers or this node are slow, and another node's change came first`;
}
