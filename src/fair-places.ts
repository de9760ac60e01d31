/** Whether an owner that has `held` places may have one more of the `free` ones. */
export type Share = (held: number, free: number) => boolean;

/**
 * One more as long as it has fewer than are free: one owner alone gets half of the places, two get
 * a third each, and some are always left for the next one that comes.
 */
export const leavingSome: Share = (held, free) => held < free;

export const upTo =
  (max: number): Share =>
  (held, free) =>
    free > 0 && held < max;

/** So many places, of which owners have their share. Who finds none waits; owners take turns. */
export class FairPlaces {
  #free: number;
  readonly #mayHave: Share;
  readonly #held = new Map<string, number>();
  /** Who waits, by owner; the first owner that may have a place is next. */
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(count: number, share: Share) {
    this.#free = count;
    this.#mayHave = share;
  }

  /** Takes a place if the owner may have one at once. */
  tryTake(owner: string): boolean {
    const held = this.#held.get(owner) ?? 0;
    if (this.#waiting.has(owner) || !this.#mayHave(held, this.#free)) return false;
    this.#held.set(owner, held + 1);
    this.#free -= 1;
    return true;
  }

  /**
   * Resolves once the owner has one more place; rejects with the signal's reason before. A place
   * that was given has to be left, also when the signal is aborted just then.
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

  /** Gives one of the owner's places back, or to those who may have it. */
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
      // The owner's next turn comes after those of the others.
      this.#waiting.delete(next);
      if (line.size > 0) this.#waiting.set(next, line);
      this.#held.set(next, has + 1);
      this.#free -= 1;
      enter!();
    }
  }
}
