/** Longest time for which a slice of work blocks the event loop. */
const SLICE_MS = 2;

/** Items between two reads of the clock. */
const ITEMS_PER_CLOCK_READ = 64;

/**
 * Runs long work in short slices, one at a time for all callers of one slicer. After each slice the
 * rest of the event loop gets as much time as the slice took.
 */
export class TimeSlicer {
  #last: Promise<void> = Promise.resolve();

  /** Calls `work` with each item; rejects with the reason of `signal` when that is aborted. */
  async each<T>(items: readonly T[], work: (item: T) => void, signal: AbortSignal): Promise<void> {
    for (let next = 0; next < items.length; ) {
      next = await this.#slice(() => {
        signal.throwIfAborted();
        return workFor(SLICE_MS, items, next, work);
      });
    }
  }

  async #slice<T>(work: () => T): Promise<T> {
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

/** Works on items until `ms` have passed. Returns the index of the first item left. */
function workFor<T>(ms: number, items: readonly T[], from: number, work: (item: T) => void) {
  const until = performance.now() + ms;
  let next = from;
  do {
    const stop = Math.min(next + ITEMS_PER_CLOCK_READ, items.length);
    for (; next < stop; next++) work(items[next]!);
  } while (next < items.length && performance.now() < until);
  return next;
}
