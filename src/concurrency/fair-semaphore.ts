/** Whether an owner that has `held` places may have one more of the `free` ones. */
export type Share = (held: number, free: number) => boolean;

/**
 * An owner may have one more as long as it has fewer than are free. One owner alone gets half of
 * the places, two get a third each, and some places are always left for the next owner that comes.
 */
export const leavingSome: Share = (held, free) => held < free;

export const upTo =
  (max: number): Share =>
  (held, free) =>
    free > 0 && held < max;

/**
 * A number of places, of which each owner has its share. An owner that finds no place waits, and
 * waiting owners take turns.
 */
export class FairSemaphore {
  #free: number;
  readonly #mayHave: Share;
  readonly #held = new Map<string, number>();
  /** Who waits, by owner; the next place goes to the first owner that may have it. */
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(count: number, share: Share) {
    this.#free = count;
    this.#mayHave = share;
  }

  /** Takes a place if the owner may have one now. */
  tryTake(owner: string): boolean {
    const held = this.#held.get(owner) ?? 0;
    if (this.#waiting.has(owner) || !this.#mayHave(held, this.#free)) return false;
    this.#held.set(owner, held + 1);
    this.#free -= 1;
    return true;
  }

  /**
   * Resolves once the owner has one more place; rejects with the signal's reason before. A place
   * that was given has to be left, also when the signal is aborted in that moment.
   */
  async take(owner: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.tryTake(owner)) return;
    await new Promise<void>((resolve, reject) => {
      const line = this.#waiting.get(owner) ?? new Set();
      this.#waiting.set(owner, line);
      const enter = () => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = () => {
        line.delete(enter);
        if (line.size === 0) this.#waiting.delete(owner);
        reject(signal.reason);
      };
      line.add(enter);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  /** Gives back one of the owner's places, and hands it to those who wait. */
  leave(owner: string): void {
    const held = this.#held.get(owner) ?? 0;
    if (held > 1) this.#held.set(owner, held - 1);
    else this.#held.delete(owner);
    this.#free += 1;
    for (const [next, line] of this.#waiting) {
      const has = this.#held.get(next) ?? 0;
      if (!this.#mayHave(has, this.#free)) continue;
      const [enter] = line;
      line.delete(enter!);
      // The owner that got the place comes after the others the next time.
      this.#waiting.delete(next);
      if (line.size > 0) this.#waiting.set(next, line);
      this.#held.set(next, has + 1);
      this.#free -= 1;
      enter!();
    }
  }
}
