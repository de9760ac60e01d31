/** Position of a counter among the counters of a time slot. It is the same in every slot. */
export type CounterIndex = number;

/**
 * Ring buffer of counters over time slots of equal length. The newest slot overwrites the oldest.
 */
export class CounterRing {
  readonly #counts: Uint32Array;
  /** Number of the newest slot, counted in slot lengths since the Unix epoch. */
  #newest = 0;

  constructor(
    private readonly count: number,
    private readonly ms: number,
    private readonly width: number,
  ) {
    this.#counts = new Uint32Array(count * width);
  }

  add(now: number, index: CounterIndex, by = 1): void {
    this.#advance(now);
    const at = (this.#newest % this.count) * this.width + index;
    this.#counts[at]! += by;
  }

  /**
   * Yields the slots, oldest first, with the start time and the counts of each. The last slot is
   * still being filled.
   */
  *rows(now: number): Generator<{ at: number; counts: Uint32Array }> {
    this.#advance(now);
    for (let number = this.#newest - this.count + 1; number <= this.#newest; number += 1) {
      const start = (number % this.count) * this.width;
      yield { at: number * this.ms, counts: this.#counts.subarray(start, start + this.width) };
    }
  }

  /**
   * Returns the counts of the slot that contains the time `at`. Returns undefined when this slot
   * was overwritten, lies ahead of the newest slot, or counted nothing.
   */
  slot(at: number): Uint32Array | undefined {
    const number = Math.floor(at / this.ms);
    if (number > this.#newest || number <= this.#newest - this.count) return undefined;
    const start = (number % this.count) * this.width;
    const counts = this.#counts.subarray(start, start + this.width);
    return counts.some((count) => count > 0) ? counts : undefined;
  }

  /**
   * Sums each counter over all slots. `ms` is the time from the start of the oldest slot to `now`.
   */
  total(now: number): { sums: number[]; ms: number } {
    const sums = new Array<number>(this.width).fill(0);
    let start = now;
    for (const { at, counts } of this.rows(now)) {
      start = Math.min(start, at);
      for (const [index, count] of counts.entries()) sums[index]! += count;
    }
    return { sums, ms: Math.max(1, now - start) };
  }

  /**
   * Makes the slot of the time `now` the newest, and clears it and the skipped slots before it. If
   * the clock was set back within the ring's time span, changes nothing. If it was set back
   * further, clears all slots.
   */
  #advance(now: number): void {
    const number = Math.floor(now / this.ms);
    const passed = number - this.#newest;
    if (passed <= 0 && passed > -this.count) return;
    if (passed < 0 || passed >= this.count) this.#counts.fill(0);
    else {
      for (let next = this.#newest + 1; next <= number; next += 1) {
        const start = (next % this.count) * this.width;
        this.#counts.fill(0, start, start + this.width);
      }
    }
    this.#newest = number;
  }
}
