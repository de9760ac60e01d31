/**
 * Measures how long each condition has held, by key. Counts at most `stepMsMax` between two checks,
 * so that a pause of this process does not count as time in which the condition held.
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
   * Records whether a condition holds at this check. Returns whether it holds and has held at all
   * checks of the last `ms` milliseconds. A check with an unknown result (undefined) returns false,
   * and the time since the check before it does not count.
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

  /** Forgets the conditions whose key has this prefix, unless `isKept` returns true for them. */
  keepOnly(prefix: string, isKept: (key: string) => boolean): void {
    for (const key of this.#held.keys()) {
      if (key.startsWith(prefix) && !isKept(key)) this.#held.delete(key);
    }
  }
}
