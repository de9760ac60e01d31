import { ApiError } from "../../errors.ts";
import type { Logger } from "../../observe/log.ts";
import { ClaimLostError } from "./ledger-claim.ts";

const FAILURE_WAIT_MS = 1_000;

/** A lane, as the ledger sees it. */
export interface CommitSource<Change> {
  /** What is new since the last call; undefined when nothing is. */
  collect(): Change | undefined;
  /** The change is kept. */
  committed(change: Change): void;
}

export interface GroupCommitParts<Change> {
  /**
   * Writes changes, all or nothing; rejects when it is not known that they are written, and with
   * `Lost` when they never will be. `number` tells commits apart, from 1 on.
   */
  write(changes: readonly Change[], number: number): Promise<void>;
  /** Nothing more is written: another node has the lanes. */
  onLost(): void;
  logger: Logger;
}

/**
 * What lanes have written. One transaction writes for all lanes that have something, and the next
 * one starts as soon as that is on disk (natural group commit).
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

  /** Nothing is written any more. */
  get isClosed(): boolean {
    return this.#closed;
  }

  /** A lane has something to write. */
  schedule(committer: CommitSource<Change>): void {
    if (this.#closed) return;
    this.#dirty.add(committer);
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
      const [next] = this.#dirty;
      if (next !== undefined) this.schedule(next);
    });
  }

  /** Lanes are told of nothing more, and what is scheduled is dropped. */
  lose(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#dirty.clear();
    this.#parts.onLost();
  }

  /** Resolves once what is scheduled is written, or cannot be at the moment. */
  async close(): Promise<void> {
    this.#closing = true;
    while (this.#flushing !== undefined) await this.#flushing;
    this.#closed = true;
  }

  async #flush(): Promise<void> {
    // One turn of the event loop, so that all lanes that were woken together come along.
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
    const written = changes.map(({ change }) => change);
    while (!(await this.#commit(written, number))) {
      // Nothing may be written after a failed change: a later cursor would pass over its dead
      // letters.
      if (this.#closing) this.#closed = true;
      if (this.#closed) return;
      await Bun.sleep(FAILURE_WAIT_MS);
    }
    for (const { committer, change } of changes) committer.committed(change);
  }

  /**
   * Asks a lane for its change; undefined when the store is being opened again, since a lane
   * compares with what is stored.
   */
  #collect(committer: CommitSource<Change>): Change | undefined {
    try {
      return committer.collect();
    } catch (error) {
      if (!(error instanceof ApiError) && !isOfLmdb(error)) throw error;
      if (!this.#closing) this.#dirty.add(committer);
      return undefined;
    }
  }

  async #commit(changes: readonly Change[], number: number): Promise<boolean> {
    if (this.#closed) return false;
    try {
      await this.#parts.write(changes, number);
      return true;
    } catch (error) {
      if (error instanceof ClaimLostError) this.lose();
      // Most likely the disk is full. The lanes fill up and wait; nothing is lost.
      else if (!(error instanceof ApiError)) this.#tell(error);
      return false;
    }
  }

  #tell(err: unknown): void {
    this.#parts.logger.error({ err }, "Cursors and dead letters cannot be kept");
  }
}

/**
 * Whether LMDB threw the error, which then has LMDB's number: an environment that LMDB has given up
 * cannot be read.
 */
function isOfLmdb(error: unknown): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "number";
}
