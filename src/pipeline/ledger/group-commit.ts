import { InvariantError } from "../../assert.ts";
import { ApiError } from "../../errors.ts";
import type { Logger } from "../../observe/log.ts";
import { ClaimLostError } from "./ledger-claim.ts";

const FAILURE_WAIT_MS = 1_000;
/**
 * Largest number of lanes in one transaction. A transaction with thousands of lanes, such as when a
 * partition stops, would block the event loop. In a cluster, a transaction also runs again if it
 * conflicts with another.
 */
const LANES_MAX = 500;

/** A lane (the delivery to one destination). Its changes share transactions with other lanes. */
export interface CommitSource<Change> {
  /** Returns the lane's changes since the last call of `collect`; undefined if there are none. */
  collect(): Change | undefined;
  /** Called when a change that `collect` returned is on disk. */
  committed(change: Change): void;
  /**
   * Stops the delivery to the destination because an invariant was broken, which is a bug. No
   * further change of this lane is written.
   */
  fail(error: unknown): void;
}

export interface GroupCommitParts<Change> {
  /**
   * Writes all changes in one transaction. Rejects with `ClaimLostError` when another node owns the
   * store, so that the changes will never be written. After any other error, it is unknown whether
   * they were written. `number` identifies the commit: it starts at 1, and a retry has the same
   * number.
   */
  write(changes: readonly Change[], number: number): Promise<void>;
  /**
   * Called when another node has claimed the ledger (the store of delivery progress), after which
   * this node writes nothing more.
   */
  onLost(): void;
  logger: Logger;
}

/**
 * Writes the changes of all lanes in common transactions. While one transaction is written, further
 * changes gather, and the next transaction writes all of them.
 */
export class GroupCommit<Change> {
  readonly #parts: GroupCommitParts<Change>;
  readonly #dirty = new Set<CommitSource<Change>>();
  #flushing: Promise<void> | undefined;
  #number = 0;
  #closing = false;
  /** Resolved by `close`. Ends the pause after a failed commit. */
  readonly #stopped = Promise.withResolvers<void>();
  #closed = false;
  #isFailing = false;

  constructor(parts: GroupCommitParts<Change>) {
    this.#parts = parts;
  }

  /** Whether the last attempt to write changes failed. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** Whether writing has stopped for good, so that later changes are never written. */
  get isClosed(): boolean {
    return this.#closed;
  }

  /** Records that a lane has changes, which the next transaction includes. */
  schedule(committer: CommitSource<Change>): void {
    if (this.#closed) return;
    this.#dirty.add(committer);
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
      const [next] = this.#dirty;
      if (next !== undefined) this.schedule(next);
    });
  }

  /** Stops writing for good. Drops the scheduled changes. */
  abandon(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#dirty.clear();
    this.#parts.onLost();
  }

  /**
   * Stops writing. Resolves once the scheduled changes are written, or an attempt to write them
   * failed.
   */
  async close(): Promise<void> {
    this.#closing = true;
    this.#stopped.resolve();
    while (this.#flushing !== undefined) await this.#flushing;
    this.#closed = true;
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
      this.#isFailing = result === "retry";
      if (result === "written") break;
      if (result === "failed") {
        this.#number -= 1;
        return;
      }
      // Nothing may be written after a failed change: a later cursor would pass over its dead
      // letters.
      if (this.#closing) this.#closed = true;
      if (this.#closed) return;
      await Promise.race([Bun.sleep(FAILURE_WAIT_MS), this.#stopped.promise]);
    }
    for (const { committer, change } of changes) {
      stopAtBrokenInvariant(committer, () => committer.committed(change));
    }
  }

  /**
   * Collects the changes of a lane. Undefined when the lane has none, and while the store cannot be
   * read because it is being reopened.
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
   * Tries once to write the changes. Returns `retry` when the write may be tried again, and
   * `failed` when a broken invariant (a bug) stopped the lanes of the commit.
   */
  async #commit(
    changes: readonly { committer: CommitSource<Change>; change: Change }[],
    number: number,
  ): Promise<"written" | "retry" | "failed"> {
    if (this.#closed) return "retry";
    try {
      const written = changes.map(({ change }) => change);
      await this.#parts.write(written, number);
      return "written";
    } catch (error) {
      if (error instanceof InvariantError) {
        for (const { committer } of changes) committer.fail(error);
        return "failed";
      }
      if (error instanceof ClaimLostError) this.abandon();
      else if (!(error instanceof ApiError)) {
        // Most likely the disk is full. The lanes fill up and wait; nothing is lost.
        this.#parts.logger.error({ err: error }, "cannot write cursors and dead letters");
      }
      return "retry";
    }
  }
}

/**
 * Calls `step`, a function of one lane, and returns its result. When `step` finds a broken
 * invariant, stops this lane only and returns undefined.
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
