import { InvariantError } from "../../assert.ts";
import { ApiError } from "../../errors.ts";
import type { Logger } from "../../observe/log.ts";
import { ClaimLostError } from "./ledger-claim.ts";

const FAILURE_WAIT_MS = 1_000;

/** A lane that has changes to write. */
export interface CommitSource<Change> {
  /** The changes since the last call; undefined without any. */
  collect(): Change | undefined;
  /** Called when the change is on disk. */
  committed(change: Change): void;
  /** Stops the lane after a broken invariant: nothing of it is written any more. */
  fail(error: unknown): void;
}

export interface GroupCommitParts<Change> {
  /**
   * Writes changes, all or nothing; rejects when it is not known that they are written, and with
   * `ClaimLostError` when they never will be. `number` tells commits apart, from 1 on.
   */
  write(changes: readonly Change[], number: number): Promise<void>;
  /** Called when another node has claimed the ledger: nothing more is written. */
  onLost(): void;
  logger: Logger;
}

/**
 * Writes the changes of lanes. One transaction holds the changes of all lanes that have any, and
 * the
 * next one starts as soon as it is on disk (natural group commit).
 */
export class GroupCommit<Change> {
  readonly #parts: GroupCommitParts<Change>;
  readonly #dirty = new Set<CommitSource<Change>>();
  #flushing: Promise<void> | undefined;
  #number = 0;
  #closing = false;
  #closed = false;

  constructor(parts: GroupCommitParts<Change>) {
    this.#parts = parts;
  }

  /** Whether nothing is written any more. */
  get isClosed(): boolean {
    return this.#closed;
  }

  /** Notes that a lane has changes to write. */
  schedule(committer: CommitSource<Change>): void {
    if (this.#closed) return;
    this.#dirty.add(committer);
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
      const [next] = this.#dirty;
      if (next !== undefined) this.schedule(next);
    });
  }

  /** Stops writing: scheduled changes are dropped. */
  abandon(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#dirty.clear();
    this.#parts.onLost();
  }

  /** Resolves once the scheduled changes are written, or cannot be written at the moment. */
  async close(): Promise<void> {
    this.#closing = true;
    while (this.#flushing !== undefined) await this.#flushing;
    this.#closed = true;
  }

  async #flush(): Promise<void> {
    // One turn of the event loop, so that lanes that were woken together commit together.
    await new Promise((resolve) => setImmediate(resolve));
    const committers = [...this.#dirty];
    this.#dirty.clear();
    const changes = committers.flatMap((committer) => {
      const change = this.#collect(committer);
      return change === undefined ? [] : [{ committer, change }];
    });
    if (changes.length === 0) {
      if (this.#dirty.size > 0) await Bun.sleep(FAILURE_WAIT_MS);
      return;
    }
    const number = ++this.#number;
    for (;;) {
      const result = await this.#commit(changes, number);
      if (result === "written") break;
      if (result === "failed") {
        this.#number -= 1;
        return;
      }
      // Nothing may be written after a failed change: a later cursor would pass over its dead
      // letters.
      if (this.#closing) this.#closed = true;
      if (this.#closed) return;
      await Bun.sleep(FAILURE_WAIT_MS);
    }
    for (const { committer, change } of changes) {
      stopAtBrokenInvariant(committer, () => committer.committed(change));
    }
  }

  /**
   * Collects the change of a lane; undefined while the store is being opened again, since a lane
   * compares with the stored record.
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

  /** `retry`: the commit has to be tried again; `failed`: its lanes were stopped. */
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

/** Runs a step of a lane; a broken invariant stops this lane, and the other lanes go on. */
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
 * Whether LMDB threw the error, which then has LMDB's number: an environment that LMDB has given up
 * cannot be read.
 */
function isOfLmdb(error: unknown): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "number";
}
