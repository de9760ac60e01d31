import { BARRIER, type OrderedLog } from "./ordered-log.ts";
import type { ViewProgress } from "./view-progress.ts";

/** Milliseconds after which an entry that the log's leader has not acknowledged is overdue. */
const ACKNOWLEDGED_MS_MAX = 8_000;

/** Thrown when a log ends below the position up to which a node has read it. */
export class LogShortenedError extends Error {
  constructor(read: number, end: number) {
    super(`has ${read} entries of its log, which ends at ${end}`);
  }
}

/**
 * Reads the end position of an ordered log. A leader that was replaced keeps answering requests for
 * its old end; only the leader in office can acknowledge an entry. Therefore each read appends an
 * empty entry (barrier) and takes its position. Concurrent calls share one barrier.
 */
export class OrderedLogEnd {
  readonly #log: Pick<OrderedLog, "append" | "knownEnd">;
  readonly #progress: Pick<ViewProgress, "next">;
  /**
   * Calls of `read` that wait for the next barrier. They cannot use the barrier in flight, which
   * was appended before they began: entries that they must see may have been appended after it.
   * Undefined while no call waits.
   */
  #waiting: PromiseWithResolvers<number> | undefined;
  #isAppending = false;
  /** Calls of `read` that wait for the barrier in flight. */
  #reading: PromiseWithResolvers<number> | undefined;
  /** Positions of this node's latest adjacent barriers: from `from` to before `end`. */
  #barriers = { from: 0, end: 0 };
  /** Number of entries in flight that have waited for longer than `ACKNOWLEDGED_MS_MAX`. */
  #overdue = 0;

  readonly #acknowledgedMsMax: number;

  /**
   * `progress` belongs to the node's view of the log. `acknowledgedMsMax` is the longest time in
   * milliseconds that calls of `read` wait until an entry in flight is acknowledged.
   */
  constructor(
    log: Pick<OrderedLog, "append" | "knownEnd">,
    progress: Pick<ViewProgress, "next">,
    acknowledgedMsMax = ACKNOWLEDGED_MS_MAX,
  ) {
    this.#log = log;
    this.#progress = progress;
    this.#acknowledgedMsMax = acknowledgedMsMax;
  }

  /**
   * Whether an entry in flight is overdue: the log's leader has not acknowledged it in time. Later
   * entries would wait for the same leader.
   */
  get isOverdue(): boolean {
    return this.#overdue > 0;
  }

  /**
   * Returns a log position after all entries with content that were durable before the call. It is
   * the position of a barrier that is appended after the call began. If other barriers of this node
   * stand directly before that barrier, it is the position of the first of them, because barriers
   * change nothing. Rejects when an entry in flight is overdue, or becomes so.
   * Rejects with `LogShortenedError` when the log has lost entries.
   */
  read(): Promise<number> {
    if (this.isOverdue) return Promise.reject(this.#overdueError());
    this.#waiting ??= Promise.withResolvers();
    const { promise } = this.#waiting;
    if (!this.#isAppending) void this.#appendBarriers();
    return promise;
  }

  /**
   * Appends an entry, and resolves with its position once it is durable. Rejects with
   * `LogShortenedError` when this node has already read an entry at that position, because the log
   * has then lost that earlier entry.
   */
  async append(entry: Uint8Array): Promise<number> {
    const next = Math.max(this.#progress.next, this.#barriers.end);
    const position = await this.#acknowledged(this.#log.append(entry));
    if (position < next) throw new LogShortenedError(next, position);
    return position;
  }

  /** Appends entries one after the other. Rejects as `append` does. */
  async appendAll(entries: readonly Uint8Array[]): Promise<void> {
    for (const entry of entries) await this.append(entry);
  }

  /**
   * Rejects with `LogShortenedError` if the end that the log's leader reports is below the view's
   * position. Appends nothing, because an entry in the place of a lost one would hide the loss.
   */
  async expectKnown(): Promise<void> {
    const { next } = this.#progress;
    const end = await this.#log.knownEnd();
    if (end < next) throw new LogShortenedError(next, end);
  }

  async #appendBarriers(): Promise<void> {
    this.#isAppending = true;
    // Calls in this turn of the event loop share the first barrier.
    await new Promise(setImmediate);
    for (let group = this.#waiting; group !== undefined; group = this.#waiting) {
      this.#waiting = undefined;
      this.#reading = group;
      try {
        group.resolve(await this.#appendBarrier());
      } catch (error) {
        group.reject(error);
      }
    }
    this.#isAppending = false;
  }

  async #appendBarrier(): Promise<number> {
    const position = await this.append(BARRIER);
    const from = position === this.#barriers.end ? this.#barriers.from : position;
    this.#barriers = { from, end: position + 1 };
    return from;
  }

  /** Waits for the acknowledgement of an entry. Rejects calls of `read` when it is overdue. */
  async #acknowledged(appended: Promise<number>): Promise<number> {
    let isOverdue = false;
    const timer = setTimeout(() => {
      isOverdue = true;
      this.#overdue += 1;
      for (const group of [this.#reading, this.#waiting]) group?.reject(this.#overdueError());
      this.#waiting = undefined;
    }, this.#acknowledgedMsMax);
    try {
      return await appended;
    } finally {
      clearTimeout(timer);
      if (isOverdue) this.#overdue -= 1;
    }
  }

  #overdueError(): Error {
    const ms = this.#acknowledgedMsMax;
    return new Error(`Expected the log's leader to acknowledge an entry within ${ms} ms`);
  }
}
