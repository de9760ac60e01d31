/**
 * Places that owners share. An owner may take one more as long as it holds fewer than are free: one
 * alone gets half of them, two get a third each, and some are always left for the next one that
 * comes. Who cannot have one waits; owners take turns.
 */
export class Turns {
  #free: number;
  readonly #held = new Map<string, number>();
  /** Who waits, by owner; the first owner that may have one is next. */
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(places: number) {
    this.#free = places;
  }

  /** Takes a place if the owner may have one at once. */
  tryTake(owner: string): boolean {
    const held = this.#held.get(owner) ?? 0;
    if (held >= this.#free || this.#waiting.has(owner)) return false;
    this.#held.set(owner, held + 1);
    this.#free -= 1;
    return true;
  }

  /**
   * Resolves once the owner has one more place; rejects with the signal's reason before. A place
   * that was given has to be left, also when the signal is aborted just then.
   */
  async take(owner: string, signal: AbortSignal): Promise<void> {
    if (this.tryTake(owner)) return;
    await new Promise<void>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const line = this.#waiting.get(owner) ?? new Set();
      this.#waiting.set(owner, line);
      const enter = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        line.delete(enter);
        if (line.size === 0) this.#waiting.delete(owner);
        reject(signal.reason);
      };
      line.add(enter);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  /** Gives a place back. */
  leave(owner: string): void {
    const held = this.#held.get(owner) ?? 0;
    if (held > 1) this.#held.set(owner, held - 1);
    else this.#held.delete(owner);
    this.#free += 1;
    this.#admit();
  }

  #admit(): void {
    for (const [owner, line] of this.#waiting) {
      if ((this.#held.get(owner) ?? 0) >= this.#free) continue;
      const [enter] = line;
      line.delete(enter!);
      // The owner's next turn comes after those of the others.
      this.#waiting.delete(owner);
      if (line.size > 0) this.#waiting.set(owner, line);
      this.#held.set(owner, (this.#held.get(owner) ?? 0) + 1);
      this.#free -= 1;
      enter!();
    }
  }
}
