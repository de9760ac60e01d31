import { BARRIER, type OrderedLog } from "./ordered-log.ts";
import type { ViewProgress } from "./view-progress.ts";

/**
 * Milliseconds after which an entry counts as overdue if the log's leader has not acknowledged it.
 */
const ACKNOWLEDGED_MS_MAX = 8_000;

/**
 * Error for a log that has lost entries: it ends before the position up to which this node has read
 * it.
 */
export class LogShortenedError extends Error {
  constructor(read: number, end: number) {
    super(`has ${read} entries of its log, which ends at ${end}`);
  }
}

/**
 * Reads the end position of an ordered log. It cannot ask the leader for it: a leader that was
 * replaced keeps answering with its old end. But only the present leader can acknowledge an entry.
 * Each read therefore appends an empty entry (barrier), and uses the position of this entry.
 * Concurrent calls share one barrier.
 */
export class OrderedLogEnd {
  /**
   * Promise of the calls of `read` that wait for the next barrier (empty entry). They cannot use
   * the barrier in flight: it was appended before these calls, so entries that they must see can
   * follow it. Undefined while no call waits.
   */
  #waiting: PromiseWithResolvers<number> | undefined;
  #isAppending = false;
  /**
   * Promise of the calls of `read` that share the barrier (empty entry) in flight, or of the last
   * one if none is in flight. Undefined before the first barrier.
   */
  #reading: PromiseWithResolvers<number> | undefined;
  /**
   * The last barriers (empty entries) of this node that are next to each other in the log. `from`
   * is the position of the first of them, `end` the position after the last one.
   */
  #barriers = { from: 0, end: 0 };
  /** Number of entries in flight that the log's leader has not acknowledged in time. */
  #overdue = 0;

  /**
   * `progress` has the position up to which the node's view has read the log. An entry that is not
   * acknowledged within `acknowledgedMsMax` milliseconds is overdue. While an entry is overdue,
   * calls of `read` reject.
   */
  constructor(
    private readonly log: Pick<OrderedLog, "append" | "knownEnd">,
    private readonly progress: Pick<ViewProgress, "next">,
    private readonly acknowledgedMsMax = ACKNOWLEDGED_MS_MAX,
  ) {}

  /**
   * Whether an entry in flight is overdue (not acknowledged in time). A new entry would have to
   * wait for the same leader of the log.
   */
  get isOverdue(): boolean {
    return this.#overdue > 0;
  }

  /**
   * Appends a barrier (empty entry) and resolves with its log position. Every entry that was
   * durable before the call is before this position. If other barriers of this node are directly
   * before the new one, resolves with the position of the first of them, because barriers change
   * nothing. Rejects while an entry in flight is overdue (not acknowledged in time). Rejects with
   * `LogShortenedError` when the log has lost entries.
   */
  read(): Promise<number> {
    if (this.isOverdue) return Promise.reject(this.#overdueError());
    this.#waiting ??= Promise.withResolvers();
    const { promise } = this.#waiting;
    if (!this.#isAppending) void this.#appendBarriers();
    return promise;
  }

  /**
   * Appends an entry. Resolves with its position when it is durable. Rejects with
   * `LogShortenedError` if this node has read the log beyond this position before: the log has then
   * lost entries.
   */
  async append(entry: Uint8Array): Promise<number> {
    const next = Math.max(this.progress.next, this.#barriers.end);
    const position = await this.#acknowledged(this.log.append(entry));
    if (position < next) throw new LogShortenedError(next, position);
    return position;
  }

  /** Appends entries one after the other. Rejects in the same cases as `append`. */
  async appendAll(entries: readonly Uint8Array[]): Promise<void> {
    for (const entry of entries) await this.append(entry);
  }

  /**
   * Rejects with `LogShortenedError` if the leader of the log reports an end before the position up
   * to which the view has read. Does not append an entry, because a new entry at the position of a
   * lost one would hide the loss.
   */
  async expectKnown(): Promise<void> {
    const { next } = this.progress;
    const end = await this.log.knownEnd();
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

  /**
   * Returns a promise that settles like `appended`, the promise of an entry in flight. When the
   * entry becomes overdue, rejects the calls of `read`.
   */
  async #acknowledged(appended: Promise<number>): Promise<number> {
    let isOverdue = false;
    const timer = setTimeout(() => {
      isOverdue = true;
      this.#overdue += 1;
      for (const group of [this.#reading, this.#waiting]) group?.reject(this.#overdueError());
      this.#waiting = undefined;
    }, this.acknowledgedMsMax);
    try {
      return await appended;
    } finally {
      clearTimeout(timer);
      if (isOverdue) this.#overdue -= 1;
    }
  }

  #overdueError(): Error {
    const ms = this.acknowledgedMsMax;
    return new Error(`Expected the log's leader to acknowledge an entry within ${ms} ms`);
  }
}
