import { InvariantError } from "../../assert.ts";
import { OneTimeEvent } from "../../concurrency/one-time-event.ts";
import { ApiError } from "../../errors.ts";
import type { Logger } from "../../observe/log.ts";
import { ClaimLostError } from "./ledger-claim.ts";

/** Pause in milliseconds before a failed transaction is tried again. */
const FAILURE_WAIT_MS = 1_000;
/**
 * Maximum number of lanes (deliveries to one destination) in one transaction. Larger transactions
 * would block the event loop and, in a cluster, conflict more often with other transactions.
 */
const LANES_MAX = 500;

/**
 * A lane (the delivery to one destination) whose changes are written in common transactions with
 * those of other lanes.
 */
export interface CommitSource<Change> {
  /** Returns the changes since the last call of `collect`; undefined if there are none. */
  collect(): Change | undefined;
  /** Called when a change that `collect` returned is on disk. */
  committed(change: Change): void;
  /**
   * Stops the delivery to the destination because an invariant was broken, which is a bug. Further
   * changes of this delivery are not written.
   */
  fail(error: unknown): void;
}

export interface GroupCommitParts<Change> {
  /**
   * Writes all changes in one transaction. Commits are numbered from 1. Rejects with one of these
   * errors:
   * - `ClaimLostError`: another node has claimed the store; this node can never write the changes.
   * - `InvariantError` (a bug): nothing was written; do not repeat the call.
   * - any other error: the changes may have been written; repeat the call with the same `number`.
   */
  write(changes: readonly Change[], number: number): Promise<void>;
  /**
   * Called when another node has claimed the ledger (the store of delivery progress). This node
   * then writes no further change.
   */
  onLost(): void;
  logger: Logger;
}

/**
 * Writes the changes of all lanes (deliveries to one destination) in common transactions. Changes
 * that come while a transaction is written go into the next one.
 */
export class GroupCommit<Change> {
  readonly #dirty = new Set<CommitSource<Change>>();
  #flushing: Promise<void> | undefined;
  #number = 0;
  #closing = false;
  /** Promise that `close` resolves, to end the pause after a failed commit. */
  readonly #stopped = new OneTimeEvent<void>();
  /** Whether writing has ended for good: further changes are never written. */
  isClosed = false;
  /** Whether the last attempt to write changes failed. */
  isFailing = false;

  constructor(private readonly parts: GroupCommitParts<Change>) {}

  /** Makes the next transaction include the changes of the lane `committer`. */
  schedule(committer: CommitSource<Change>): void {
    if (this.isClosed) return;
    this.#dirty.add(committer);
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
      const [next] = this.#dirty;
      if (next !== undefined) this.schedule(next);
    });
  }

  /** Ends writing for good, and drops the scheduled changes. */
  abandon(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#dirty.clear();
    this.parts.onLost();
  }

  /**
   * Ends writing after one last attempt to write the scheduled changes. Resolves when that has
   * succeeded or failed.
   */
  async close(): Promise<void> {
    this.#closing = true;
    this.#stopped.happen();
    while (this.#flushing !== undefined) await this.#flushing;
    this.isClosed = true;
  }

  async #flush(): Promise<void> {
    // One turn of the event loop, so that lanes that were woken together commit together.
    await new Promise((resolve) => setImmediate(resolve));
    const committers = [...this.#dirty.values().take(LANES_MAX)];
    for (const committer of committers) this.#dirty.delete(committer);
    const others = this.#dirty.size;
    const changes = committers.flatMap((committer) => {
      const change = this.#collect(committer);
      return change === undefined ? [] : [{ committer, change }];
    });
    if (changes.length === 0) {
      if (this.#dirty.size > others) await Bun.sleep(FAILURE_WAIT_MS);
      return;
    }
    const number = ++this.#number;
    for (;;) {
      const result = await this.#commit(changes, number);
      this.isFailing = result === "retry";
      if (result === "written") break;
      if (result === "failed") {
        this.#number -= 1;
        return;
      }
      // Nothing may be written after a failed change: a later cursor would pass over its dead
      // letters.
      if (this.#closing) this.isClosed = true;
      if (this.isClosed) return;
      await this.#stopped.race(Bun.sleep(FAILURE_WAIT_MS));
    }
    for (const { committer, change } of changes) {
      stopAtBrokenInvariant(committer, () => committer.committed(change));
    }
  }

  /**
   * Returns the changes of the lane `committer`; undefined when it has none. Also returns undefined
   * if the store cannot be read because it is being reopened. In this case, schedules the lane for
   * the next transaction.
   */
  #collect(committer: CommitSource<Change>): Change | undefined {
    try {
      return stopAtBrokenInvariant(committer, () => committer.collect());
    } catch (error) {
      if (!(error instanceof ApiError) && !isOfLmdb(error)) throw error;
      if (!this.#closing) this.#dirty.add(committer);
      return undefined;
    }
  }

  /**
   * Tries once to write the changes. Returns `retry` if the write failed: the caller repeats the
   * call, unless `isClosed` is true. Returns `failed` after a broken invariant (a bug): nothing was
   * written, and the deliveries with changes are stopped.
   */
  async #commit(
    changes: readonly { committer: CommitSource<Change>; change: Change }[],
    number: number,
  ): Promise<"written" | "retry" | "failed"> {
    if (this.isClosed) return "retry";
    try {
      const written = changes.map(({ change }) => change);
      await this.parts.write(written, number);
      return "written";
    } catch (error) {
      if (error instanceof InvariantError) {
        for (const { committer } of changes) committer.fail(error);
        return "failed";
      }
      if (error instanceof ClaimLostError) this.abandon();
      else if (!(error instanceof ApiError)) {
        // Most likely the disk is full. The lanes fill up and wait; nothing is lost.
        this.parts.logger.error({ err: error }, "cannot write cursors and dead letters");
      }
      return "retry";
    }
  }
}

/**
 * Calls `step`, which concerns one lane (the delivery to one destination), and returns its result.
 * If `step` throws an `InvariantError` (a bug), stops the lane with `committer.fail` and returns
 * undefined. Other errors are thrown.
 */
function stopAtBrokenInvariant<T>(
  committer: { fail(error: unknown): void },
  step: () => T,
): T | undefined {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof InvariantError)) throw error;
    committer.fail(error);
    return undefined;
  }
}

/**
 * Whether the error comes from the LMDB library: only its errors have a number as their code. After
 * such an error, the store cannot be read until it is reopened.
 */
function isOfLmdb(error: unknown): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "number";
}
