/** Index of a counter in a slot. */
export type CounterIndex = number;

/** Ring buffer of counters over fixed time slots. */
export class CounterRing {
  readonly #count: number;
  readonly #ms: number;
  readonly #width: number;
  readonly #counts: Uint32Array;
  /** Number of the newest slot since the epoch. */
  #newest = 0;

  constructor(count: number, ms: number, width: number) {
    this.#count = count;
    this.#ms = ms;
    this.#width = width;
    this.#counts = new Uint32Array(count * width);
  }

  add(now: number, index: CounterIndex, by = 1): void {
    this.#advance(now);
    const at = (this.#newest % this.#count) * this.#width + index;
    this.#counts[at] = (this.#counts[at] ?? 0) + by;
  }

  /** The slots, oldest first, each with its start; the last one is incomplete. */
  *rows(now: number): Generator<{ at: number; counts: Uint32Array }> {
    this.#advance(now);
    for (let number = this.#newest - this.#count + 1; number <= this.#newest; number += 1) {
      const start = (number % this.#count) * this.#width;
      yield { at: number * this.#ms, counts: this.#counts.subarray(start, start + this.#width) };
    }
  }

  /** Sums of all slots, and the milliseconds that they span. */
  total(now: number): { sums: number[]; ms: number } {
    const sums = new Array<number>(this.#width).fill(0);
    let start = now;
    for (const { at, counts } of this.rows(now)) {
      start = Math.min(start, at);
      for (const [index, count] of counts.entries()) sums[index] = (sums[index] ?? 0) + count;
    }
    return { sums, ms: Math.max(1, now - start) };
  }

  /**
   * Moves to the slot of `now`. A clock that was set back a little stays in the newest slot; one
   * that was set back far clears the ring.
   */
  #advance(now: number): void {
    const number = Math.floor(now / this.#ms);
    const passed = number - this.#newest;
    if (passed <= 0 && passed > -this.#count) return;
    if (passed < 0 || passed >= this.#count) this.#counts.fill(0);
    else {
      for (let next = this.#newest + 1; next <= number; next += 1) {
        const start = (next % this.#count) * this.#width;
        this.#counts.fill(0, start, start + this.#width);
      }
    }
    this.#newest = number;
  }
}
