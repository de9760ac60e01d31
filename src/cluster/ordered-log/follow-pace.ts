/** Milliseconds of pause after a fetch that returned only barriers (empty entries). */
const PAUSE_MS = 20;

/**
 * Decides how long the follower of an ordered log pauses between two fetches of entries. Each read
 * of a store appends a barrier (an empty entry), which ends the waiting fetches of all nodes. The
 * follower pauses after barriers, so that its next fetch returns the barriers of many reads. The
 * pause ends early when this node waits for an entry.
 */
export class FollowPace {
  /** Position after the last entry of the log that this node waits to read. */
  #wanted = 0;
  /** Position after the last entry of the log that this node has appended. */
  #appended = 0;
  #hurry: (() => void) | undefined;

  constructor(private readonly pauseMs = PAUSE_MS) {}

  /**
   * Records that this node has appended an entry at `position`, which it then waits to read. After
   * a barrier (empty entry), it waits only for the entries before the barrier. A barrier directly
   * after an entry of this node adds nothing, because the node already waits for that entry.
   */
  appended(position: number, isBarrier: boolean): void {
    const isNext = position === this.#appended;
    this.#appended = Math.max(this.#appended, position + 1);
    if (isBarrier && isNext) return;
    this.#wanted = Math.max(this.#wanted, isBarrier ? position : position + 1);
    this.#hurry?.();
  }

  /**
   * Waits before the fetch of the entries from position `next`, until this node waits to read one
   * of these entries, but at most for the pause that the constructor was given.
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
