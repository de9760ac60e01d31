/**
 * Calls several functions at the same interval. They share one timer, because each timer wakes the
 * process. A wake costs more CPU time than the call of a function that has nothing to do.
 */
export class SharedPoll {
  readonly #polled = new Set<() => void>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly intervalMs: number) {}

  /** Calls `poll` at each interval, until the returned function is called. */
  add(poll: () => void): () => void {
    this.#polled.add(poll);
    this.#timer ??= setInterval(() => {
      for (const each of this.#polled) each();
    }, this.intervalMs);
    return () => {
      this.#polled.delete(poll);
      if (this.#polled.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }
}
