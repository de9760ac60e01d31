/** Longest time in milliseconds for which one slice of work blocks the event loop. */
const SLICE_MS = 2;

/** Number of items that are processed between two checks of the clock. */
const ITEMS_PER_CLOCK_READ = 64;

/**
 * Runs long synchronous work in short slices. All callers of one slicer share it, and only one
 * slice runs at a time. After each slice, the event loop is free for other work for as long as the
 * slice took.
 */
export class TimeSlicer {
  #last: Promise<void> = Promise.resolve();

  /**
   * Calls `work` with each item, in slices. Rejects with the reason of `signal` when the signal is
   * aborted.
   */
  async each<T>(items: readonly T[], work: (item: T) => void, signal: AbortSignal): Promise<void> {
    for (let next = 0; next < items.length; ) {
      next = await this.run(() => {
        signal.throwIfAborted();
        return workFor(SLICE_MS, items, next, work);
      });
    }
  }

  /** Calls `work`, which must be short, when all earlier slices and the pauses after them have ended. */
  async run<T>(work: () => T): Promise<T> {
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

/**
 * Calls `work` with items from index `from` on, for about `ms` milliseconds. Returns the index of
 * the first item that was not processed.
 */
function workFor<T>(ms: number, items: readonly T[], from: number, work: (item: T) => void) {
  const until = performance.now() + ms;
  let next = from;
  do {
    const stop = Math.min(next + ITEMS_PER_CLOCK_READ, items.length);
    for (; next < stop; next++) work(items[next]!);
  } while (next < items.length && performance.now() < until);
  return next;
}
