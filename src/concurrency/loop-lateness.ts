/** Milliseconds between two checks of how late the event loop is. */
const LOOK_MS = 100;
/**
 * Length in milliseconds of one period. `LoopLateness` remembers the largest lateness in the
 * present period and the largest in the previous one.
 */
const REMEMBERED_MS = 5_000;

/**
 * Measures by how much the event loop runs its timers late, because it computes or because this
 * process gets no processor time.
 */
export class LoopLateness {
  readonly #timer = setInterval(() => this.#look(), LOOK_MS).unref();
  #lookedAt = performance.now();
  /**
   * Largest lateness in milliseconds in the present period of `REMEMBERED_MS`, and in the period
   * before it.
   */
  #largest = [0, 0] as [present: number, previous: number];
  #since = performance.now();

  /**
   * Returns the largest lateness of a timer, in milliseconds, in the last `REMEMBERED_MS` at least,
   * and in twice this time at most. Includes a timer that is late at this moment.
   */
  recentMs(): number {
    this.#look();
    return Math.max(...this.#largest);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = performance.now();
    if (now - this.#since > REMEMBERED_MS) {
      this.#largest = [0, this.#largest[0]];
      this.#since = now;
    }
    this.#largest[0] = Math.max(this.#largest[0], now - this.#lookedAt - LOOK_MS);
    this.#lookedAt = now;
  }
}
