/** Milliseconds between two looks at the clock. */
const LOOK_MS = 100;
/** Milliseconds for which the largest lateness is remembered at least. */
const REMEMBERED_MS = 5_000;

/**
 * Measures by how much the event loop runs its timers late, because it computes or because this
 * process gets no processor time.
 */
export class LoopLateness {
  readonly #timer: ReturnType<typeof setInterval>;
  #lookedAt = performance.now();
  /** Largest lateness in ms of the present and of the previous `REMEMBERED_MS`. */
  #largest = [0, 0] as [present: number, previous: number];
  #since = performance.now();

  constructor() {
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
    this.#timer.unref();
  }

  /**
   * Largest lateness of a timer in the last `REMEMBERED_MS` to `2 * REMEMBERED_MS`, in
   * milliseconds, which includes a lateness that lasts.
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
