/** Pause in milliseconds after a fetch that returned only barriers (empty entries). */
const PAUSE_MS = 20;

/**
 * Decides how long the follower of an ordered log (the reader of its new entries) pauses between
 * two fetches. Each read of a store appends a barrier (an empty entry). At a barrier, the brokers
 * answer the waiting fetches of all nodes. After a fetch that returned only barriers, the follower
 * thus pauses, so that the next fetch returns the barriers of many reads at once. The pause ends
 * early when this node itself waits for an entry.
 */
export class FollowPace {
  /** Position after the last log entry that this node waits to read. */
  #wanted = 0;
  /** Position after the last log entry that this node has appended. */
  #appended = 0;
  #hurry: (() => void) | undefined;

  constructor(private readonly pauseMs = PAUSE_MS) {}

  /**
   * Records that this node has appended an entry at `position`. The node then waits to read this
   * entry. If the entry is a barrier (empty entry), the node waits only for the entries before it.
   * If the entry directly before the barrier is this node's own, nothing changes, because the node
   * already waits for that entry.
   */
  appended(position: number, isBarrier: boolean): void {
    const isNext = position === this.#appended;
    this.#appended = Math.max(this.#appended, position + 1);
    if (isBarrier && isNext) return;
    this.#wanted = Math.max(this.#wanted, isBarrier ? position : position + 1);
    this.#hurry?.();
  }

  /**
   * Waits before the next fetch, which begins at position `next`. The wait ends when this node
   * needs the entry at `next` or a later one, and at the latest after the pause that the
   * constructor was given.
   */
  async pause(next: number): Promise<void> {
    if (this.#wanted > next) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#hurry = resolve;
    const timer = setTimeout(resolve, this.pauseMs);
    await promise;
    clearTimeout(timer);
    this.#hurry = undefined;
  }
}
