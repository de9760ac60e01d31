/** Milliseconds of pause after a fetch that returned only barriers (empty entries). */
const PAUSE_MS = 20;

/**
 * Decides how long the follower of an ordered log, which fetches its entries, pauses between two
 * fetches. Each read of a store appends a barrier, which is an empty entry, and a single barrier
 * ends the waiting fetches of all nodes. The follower therefore pauses after barriers, so that its
 * next fetch returns the barriers of many reads. The pause ends early when this node waits for an
 * entry.
 */
export class FollowPace {
  readonly #pauseMs: number;
  /** Position after the last entry of the log that this node waits to read. */
  #wanted = 0;
  /** Position after the last entry of the log that this node has appended. */
  #appended = 0;
  #hurry: (() => void) | undefined;

  constructor(pauseMs = PAUSE_MS) {
    this.#pauseMs = pauseMs;
  }

  /**
   * Records that this node has appended an entry at `position`. The node then waits until it has
   * read this entry and all entries before it. A barrier (empty entry) itself need not be read,
   * only the entries before it. If this node also appended the entry directly before the barrier,
   * the barrier adds nothing to wait for: the node waits for these entries already.
   */
  appended(position: number, isBarrier: boolean): void {
    const isNext = position === this.#appended;
    this.#appended = Math.max(this.#appended, position + 1);
    if (isBarrier && isNext) return;
    this.#wanted = Math.max(this.#wanted, isBarrier ? position : position + 1);
    this.#hurry?.();
  }

  /**
   * Waits before the fetch of the entries from position `next`. Returns at once when this node
   * waits to read one of these entries. Otherwise returns when the node begins to wait for an
   * entry, at the latest after the pause that the constructor was given.
   */
  async pause(next: number): Promise<void> {
    if (this.#wanted > next) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#hurry = resolve;
    const timer = setTimeout(resolve, this.#pauseMs);
    await promise;
    clearTimeout(timer);
    this.#hurry = undefined;
  }
}
