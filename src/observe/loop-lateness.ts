/** Milliseconds between two checks of how late the event loop is. */
const LOOK_MS = 100;
/**
 * Milliseconds after which a new period begins. `LoopLateness` stores the largest lateness of the
 * present period and that of the previous one.
 */
const REMEMBERED_MS = 5_000;

/**
 * Measures how late the event loop runs its timers. They are late while the loop is busy, or while
 * this process gets no processor time.
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
   * Returns the largest lateness of the event loop, in milliseconds, since the beginning of the
   * previous period of `REMEMBERED_MS`. If this object's timer is overdue now, the present lateness
   * counts too.
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
