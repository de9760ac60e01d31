/**
 * Measures for how long conditions hold, by key. Counts the time between two checks only up to
 * `stepMsMax`, so that a pause of this process does not count as time in which a condition held.
 */
export class Holds {
  readonly #stepMsMax: number;
  readonly #elapsed: () => number;
  readonly #held = new Map<string, { ms: number; at: number }>();

  constructor(stepMsMax: number, elapsed: () => number) {
    this.#stepMsMax = stepMsMax;
    this.#elapsed = elapsed;
  }

  /**
   * Records whether a condition holds now. Returns whether it has held for `ms` at all checks. A
   * check with an unknown result (undefined) neither counts nor restarts the time.
   */
  hasHeld(key: string, holds: boolean | undefined, ms: number): boolean {
    if (holds === false) {
      this.#held.delete(key);
      return false;
    }
    const at = this.#elapsed();
    const before = this.#held.get(key);
    if (holds === undefined) {
      if (before !== undefined) before.at = at;
      return false;
    }
    const step = before === undefined ? 0 : Math.min(at - before.at, this.#stepMsMax);
    const held = { ms: (before?.ms ?? 0) + step, at };
    this.#held.set(key, held);
    return held.ms >= ms;
  }

  forget(key: string): void {
    this.#held.delete(key);
  }

  /** Forgets the conditions with this prefix that `isKept` does not name. */
  keepOnly(prefix: string, isKept: (key: string) => boolean): void {
    for (const key of this.#held.keys()) {
      if (key.startsWith(prefix) && !isKept(key)) this.#held.delete(key);
    }
  }
}
