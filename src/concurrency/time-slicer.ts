/** Approximate milliseconds for which one slice of work blocks the event loop. */
const SLICE_MS = 2;

/** Number of items that are processed between two checks of the clock. */
const ITEMS_PER_CLOCK_READ = 64;

/**
 * Runs long synchronous work in short slices. The slices of all callers run one after another.
 * After each slice, the event loop is free for other work for as long as the slice took.
 */
export class TimeSlicer {
  #last: Promise<void> = Promise.resolve();

  /**
   * Calls `work` with each item, in slices. Rejects with the reason of `signal` when the signal is
   * aborted.
   */
  async each<T>(items: Iterable<T>, work: (item: T) => void, signal?: AbortSignal): Promise<void> {
    const iterator = items[Symbol.iterator]();
    let isDone = false;
    while (!isDone) {
      isDone = await this.run(() => {
        signal?.throwIfAborted();
        return workFor(SLICE_MS, iterator, work);
      });
    }
  }

  /** Runs `work`, which must be short, as one slice after all earlier slices and their pauses. */
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
 * Calls `work` with the next items for about `ms` milliseconds. Returns true once no item is left,
 * and false if items may be left.
 */
function workFor<T>(ms: number, items: Iterator<T>, work: (item: T) => void): boolean {
  const until = performance.now() + ms;
  do {
    for (let count = 0; count < ITEMS_PER_CLOCK_READ; count++) {
      const { value, done } = items.next();
      if (done === true) return true;
      work(value);
    }
  } while (performance.now() < until);
  return false;
}
