/** Pause in milliseconds after a fetch that returned only barriers (empty entries). */
const PAUSE_MS = 20;

/**
 * Decides how long the follower (the reader of new entries) of an ordered log pauses after a fetch
 * of only barriers (empty entries), so that the next fetch returns many. A pause ends early when
 * this node waits for an entry.
 */
export class FollowPace {
  /** Position after the last log entry that this node waits to read. */
  #wanted = 0;
  /** Position after the last log entry that this node has appended. */
  #appended = 0;
  #hurry: (() => void) | undefined;

  constructor(private readonly pauseMs = PAUSE_MS) {}

  /**
   * Records an entry that this node has appended at `position`. The follower (the reader of new
   * entries) does not pause until it has read this entry or, for a barrier (an empty entry), all
   * entries before the barrier.
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
