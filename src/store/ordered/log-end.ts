import { BARRIER, type OrderedLog } from "./ordered-log.ts";
import type { ViewProgress } from "./view-progress.ts";

/**
 * Milliseconds after which an entry counts as overdue if the log's leader has not acknowledged it.
 */
const ACKNOWLEDGED_MS_MAX = 8_000;

/** Error for a log that has lost entries: its end is before entries that this node has read. */
export class LogShortenedError extends Error {
  constructor(read: number, end: number) {
    super(`has ${read} entries of its log, which ends at ${end}`);
  }
}

/**
 * Reads the end position of an ordered log by appending an empty entry (barrier) and taking its
 * position, because only the present leader can acknowledge an entry. A leader that was replaced
 * keeps reporting its old end.
 */
export class OrderedLogEnd {
  /**
   * Promise for the calls of `read` that wait for the next barrier (empty entry). A barrier in
   * flight is not enough for them, because entries that they must see may follow it. The field is
   * undefined if there are no such calls.
   */
  #waiting: PromiseWithResolvers<number> | undefined;
  #isAppending = false;
  /**
   * Promise shared by the calls of `read` that wait for the barrier (empty entry) in flight. If
   * none is in flight, it is the promise of the last barrier; undefined before the first one.
   */
  #reading: PromiseWithResolvers<number> | undefined;
  /**
   * The latest barriers (empty entries) of this node with no other entry between them: `from` is
   * the position of the first one, `end` the position after the last one.
   */
  #barriers = { from: 0, end: 0 };
  /** Number of entries in flight that the log's leader has not acknowledged in time. */
  #overdue = 0;

  /**
   * Creates the reader of a log's end.
   * - `progress.next`: log position of the first entry that this node's view has not applied
   * - `acknowledgedMsMax`: milliseconds after which an appended entry without acknowledgement is
   *   overdue; calls of `read` reject until its append has ended
   */
  constructor(
    private readonly log: Pick<OrderedLog, "append" | "knownEnd">,
    private readonly progress: Pick<ViewProgress, "next">,
    private readonly acknowledgedMsMax = ACKNOWLEDGED_MS_MAX,
  ) {}

  /**
   * Whether an entry in flight is overdue: the log's leader has not acknowledged it in time. A new
   * entry would have to wait for this leader too.
   */
  get isOverdue(): boolean {
    return this.#overdue > 0;
  }

  /**
   * Appends an empty entry (barrier). Resolves with a position higher than that of every entry with
   * content that was durable before the call. Rejects while an entry is overdue (not acknowledged
   * in time), and with `LogShortenedError` when the log has lost entries.
   */
  read(): Promise<number> {
    if (this.isOverdue) return Promise.reject(this.#overdueError());
    this.#waiting ??= Promise.withResolvers();
    const { promise } = this.#waiting;
    if (!this.#isAppending) void this.#appendBarriers();
    return promise;
  }

  /**
   * Appends an entry, and resolves with its position when it is durable. Rejects with
   * `LogShortenedError` if this node has already seen an entry at this position or after it: the
   * log has then lost entries.
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
   * Rejects with `LogShortenedError` if the log's leader reports a log end below the position up to
   * which the view has read. Appends no entry, because it could get the position of a lost entry
   * and hide the loss.
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
   * Returns a promise that settles like `appended`, the promise of an entry in flight. If the entry
   * becomes overdue (is not acknowledged in time), rejects the waiting calls of `read`.
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
