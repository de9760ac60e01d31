/**
 * Event that happens at most once, such as the stop of a loop. Its waiters are forgotten when they
 * no longer wait. A `Promise.race` with a promise that lasts as long as the process would instead
 * keep something of each race in memory.
 */
export class OneTimeEvent<T> {
  readonly #waiters = new Set<(value: T) => void>();
  #outcome: { value: T } | undefined;

  get hasHappened(): boolean {
    return this.#outcome !== undefined;
  }

  /** Number of calls of `race` that are in progress. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /** Ends all calls of `race` with `value`. Does nothing if the event happened before. */
  happen(value: T): void {
    this.#outcome ??= { value };
    for (const resolve of this.#waiters) resolve(this.#outcome.value);
  }

  /** Settles as the first of `promises` does, or resolves with the event's value if it is first. */
  async race<P>(...promises: (P | Promise<P>)[]): Promise<P | T> {
    const { promise: happened, resolve } = Promise.withResolvers<T>();
    if (this.#outcome !== undefined) resolve(this.#outcome.value);
    this.#waiters.add(resolve);
    try {
      return await Promise.race([...promises, happened]);
    } finally {
      this.#waiters.delete(resolve);
    }
  }
}
