/** Pause in milliseconds after a fetch that returned only barriers (empty entries). */
const PAUSE_MS = 20;

/**
 * Decides how long the follower of an ordered log (the reader of its new entries) pauses between
 * two fetches. Each read of a store appends a barrier (an empty entry), and each new entry ends the
 * waiting fetches of all nodes. The follower therefore pauses after a fetch that returned only
 * barriers. The next fetch then returns the barriers of many reads at once. The pause ends early
 * when this node itself waits for an entry.
 */
export class FollowPace {
  /** Position after the last log entry that this node waits to read. */
  #wanted = 0;
  /** Position after the last log entry that this node has appended. */
  #appended = 0;
  #hurry: (() => void) | undefined;

  constructor(private readonly pauseMs = PAUSE_MS) {}

  /**
   * Records that this node has appended an entry at `position`. The follower (the reader of new
   * entries) then does not pause before it has read this entry. If the entry is a barrier (an empty
   * entry), it suffices that the follower has read the entries before the barrier. A barrier
   * directly after another entry of this node has no effect on the pauses.
   */
  appended(position: number, isBarrier: boolean): void {
    const isNext = position === this.#appended;
    this.#appended = Math.max(this.#appended, position + 1);
    if (isBarrier && isNext) return;
    this.#wanted = Math.max(this.#wanted, isBarrier ? position : position + 1);
    this.#hurry?.();
  }

  /**
   * Pauses before the next fetch, which begins at position `next`. Returns as soon as this node
   * waits for the entry at `next` or a later one, and after `pauseMs` at the latest.
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
