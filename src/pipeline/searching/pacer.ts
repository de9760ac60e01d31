/** A turn of work that others of the event loop wait for. */
const TURN_MS = 2;

/**
 * Lets long work take short turns, one after another for all who share the pacer, and leaves as much
 * time again to the rest of the event loop after each.
 */
export class Pacer {
  #last: Promise<void> = Promise.resolve();

  /** Calls `work` with each item, in as many turns as it takes; stops when `signal` is aborted. */
  async each<T>(items: readonly T[], work: (item: T) => void, signal: AbortSignal): Promise<void> {
    for (let next = 0; next < items.length; ) {
      next = await this.#turn(() => {
        signal.throwIfAborted();
        return workFor(TURN_MS, items, next, work);
      });
    }
  }

  async #turn<T>(work: () => T): Promise<T> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    await before;
    const startedAt = performance.now();
    try {
      return work();
    } finally {
      setTimeout(resolve, performance.now() - startedAt);
    }
  }
}

/** Looks at the clock once for so many items. */
const LOOK_EVERY = 64;

function workFor<T>(ms: number, items: readonly T[], from: number, work: (item: T) => void) {
  const until = performance.now() + ms;
  let next = from;
  do {
    const stop = Math.min(next + LOOK_EVERY, items.length);
    for (; next < stop; next++) work(items[next]!);
  } while (next < items.length && performance.now() < until);
  return next;
}
