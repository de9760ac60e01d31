import { BARRIER, type OrderedLog } from "./ordered-log.ts";
import type { ViewProgress } from "./view-progress.ts";

/** Longest time in milliseconds that readers wait until the log's leader acknowledges an entry. */
const ACKNOWLEDGED_MS_MAX = 8_000;

/** Thrown when a log ends below the position up to which a node has read it. */
export class LogShortenedError extends Error {
  constructor(read: number, end: number) {
    super(`has ${read} entries of its log, which ends at ${end}`);
  }
}

/**
 * Reads the end position of an ordered log. Each read appends an empty entry (barrier) and takes
 * its position: only the leader in office can acknowledge an entry, while a leader that was
 * replaced keeps answering requests for its old end. Concurrent calls share one barrier.
 */
export class OrderedLogEnd {
  readonly #log: Pick<OrderedLog, "append" | "knownEnd">;
  readonly #progress: Pick<ViewProgress, "next">;
  /**
   * Calls of `read` that wait for the next barrier. They began after the barrier in flight, which
   * therefore proves nothing for them. Undefined while no call waits.
   */
  #waiting: PromiseWithResolvers<number> | undefined;
  #isAppending = false;
  /** Positions of this node's latest consecutive barriers: from `from` to before `end`. */
  #barriers = { from: 0, end: 0 };
  /** Whether the barrier in flight has waited for longer than `ACKNOWLEDGED_MS_MAX`. */
  #isOverdue = false;

  readonly #acknowledgedMsMax: number;

  /**
   * `progress` belongs to the node's view of the log. `acknowledgedMsMax` is the longest time in
   * milliseconds that calls of `read` wait until a barrier is acknowledged.
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
   * Reads a position after all entries with content that were durable before the call: that of the
   * barrier, or of earlier barriers of this node directly before it, which need not be read. Rejects
   * when the log's leader does not acknowledge a barrier within `ACKNOWLEDGED_MS_MAX`, and at once
   * while an earlier barrier has waited for so long. Rejects with `LogShortenedError` when the log
   * has lost entries.
   */
  read(): Promise<number> {
    if (this.#isOverdue) return Promise.reject(this.#overdue());
    this.#waiting ??= Promise.withResolvers();
    const { promise } = this.#waiting;
    if (!this.#isAppending) void this.#appendBarriers();
    return promise;
  }

  /**
   * Appends an entry, and resolves with its position once it is durable. Rejects with
   * `LogShortenedError` when the position is one that this node has already read: the log has lost
   * the entry that was there.
   */
  async append(entry: Uint8Array): Promise<number> {
    const next = Math.max(this.#progress.next, this.#barriers.end);
    const position = await this.#log.append(entry);
    if (position < next) throw new LogShortenedError(next, position);
    return position;
  }

  /**
   * Rejects with `LogShortenedError` if the log ends below the view's position, as its leader knows
   * the end. Appends nothing: an entry in the place of a lost one would hide the loss.
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
      const timer = setTimeout(() => this.#giveUp(group!), this.#acknowledgedMsMax);
      try {
        group.resolve(await this.#appendBarrier());
      } catch (error) {
        group.reject(error);
      }
      clearTimeout(timer);
      this.#isOverdue = false;
    }
    this.#isAppending = false;
  }

  async #appendBarrier(): Promise<number> {
    const position = await this.append(BARRIER);
    const from = position === this.#barriers.end ? this.#barriers.from : position;
    this.#barriers = { from, end: position + 1 };
    return from;
  }

  /** Rejects all calls that wait, so that none waits behind a barrier that is overdue. */
  #giveUp(group: PromiseWithResolvers<number>): void {
    this.#isOverdue = true;
    group.reject(this.#overdue());
    this.#waiting?.reject(this.#overdue());
    this.#waiting = undefined;
  }

  #overdue(): Error {
    const ms = this.#acknowledgedMsMax;
    return new Error(`Expected the log's leader to acknowledge an entry within ${ms} ms`);
  }
}
