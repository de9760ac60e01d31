/** Time and chance, so that tests can hurry the one and repeat the other. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** From 0 inclusive to 1 exclusive. */
  random(): number;
  /** Resolves after `ms`, or as soon as `until` resolves. */
  sleep(ms: number, until: Promise<unknown>): Promise<void>;
}

export const systemClock: Clock = {
  now: Date.now,
  random: Math.random,
  sleep(ms, until) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      until.then(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  },
};

/** Something to wait for that can happen again and again; rings that nobody waits for are lost. */
export class Bell {
  #next = Promise.withResolvers<void>();

  /** Resolves with the next ring. */
  wait(): Promise<void> {
    return this.#next.promise;
  }

  ring(): void {
    const rung = this.#next;
    this.#next = Promise.withResolvers<void>();
    rung.resolve();
  }
}
