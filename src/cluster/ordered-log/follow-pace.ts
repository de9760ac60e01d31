/** Pause in milliseconds after a fetch that returned only barriers, which are empty entries. */
const PAUSE_MS = 20;

/**
 * Decides how long the follower of an ordered log pauses between two fetches. Each read of a store
 * appends a barrier, and a broker answers a waiting fetch at the first one, at all nodes. The
 * follower therefore pauses after barriers, so that a fetch has those of many reads. An entry that
 * this node waits for ends the pause.
 */
export class FollowPace {
  readonly #pauseMs: number;
  /** Position after the last entry that this node waits for. */
  #wanted = 0;
  /** Position after the last entry that this node has appended. */
  #appended = 0;
  #hurry: (() => void) | undefined;

  constructor(pauseMs = PAUSE_MS) {
    this.#pauseMs = pauseMs;
  }

  /**
   * Records that this node has appended an entry at `position`. The node waits for the entries
   * before it, unless it has appended the one before itself, and for the entry, unless it is a
   * barrier.
   */
  appended(position: number, isBarrier: boolean): void {
    const isNext = position === this.#appended;
    this.#appended = Math.max(this.#appended, position + 1);
    if (isBarrier && isNext) return;
    this.#wanted = Math.max(this.#wanted, isBarrier ? position : position + 1);
    this.#hurry?.();
  }

  /**
   * Waits before the fetch of the entries from `next` on: not at all when this node waits for one of
   * them, and else until it does, but not for long.
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
