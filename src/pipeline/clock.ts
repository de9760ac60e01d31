/** Something to wait for that can happen again and again; a ring that nobody waits for is lost. */
export class Bell {
  readonly #waiters = new Set<() => void>();

  /** Calls back at the next ring, unless the returned function is called before. */
  once(call: () => void): () => void {
    this.#waiters.add(call);
    return () => this.#waiters.delete(call);
  }

  /** Resolves with the next ring. */
  wait(): Promise<void> {
    return new Promise((resolve) => this.once(resolve));
  }

  /** What `work` comes to; undefined when the bell rings before. */
  async orRing<T>(work: Promise<T>): Promise<T | undefined> {
    const { promise: rung, resolve } = Promise.withResolvers<undefined>();
    const forget = this.once(() => resolve(undefined));
    return await Promise.race([work, rung]).finally(forget);
  }

  ring(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const call of waiters) call();
  }
}

/** Time and chance, so that tests can hurry the one and repeat the other. */
export interface Clock {
  /** Whole milliseconds since the epoch. */
  now(): number;
  /** From 0 inclusive to 1 exclusive. */
  random(): number;
  /** Resolves after `ms`, or at the next ring. */
  sleep(ms: number, until: Bell): Promise<void>;
}

export const systemClock: Clock = {
  now: Date.now,
  random: Math.random,
  sleep(ms, until) {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        forget();
        resolve();
      }, ms);
      const forget = until.once(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  },
};
