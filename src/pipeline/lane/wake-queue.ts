/**
 * A lane (the delivery to one destination). `wake` makes it check for new records. With `later`, it
 * only remembers that there may be some, and checks at the next call without `later`.
 */
interface Wakeable {
  wake(later?: boolean): void;
}

/** Largest number of lanes that are woken in one slice. */
const WAKES_AT_ONCE_MAX = 32;

/**
 * Wakes lanes that have new records to read. Wakes many lanes in slices with equally long pauses,
 * so that one record for thousands of destinations does not block the event loop.
 */
export class WakeQueue {
  readonly #waiting = new Set<Wakeable>();
  #isRunning = false;

  wake(lanes: readonly Wakeable[]): void {
    if (lanes.length <= WAKES_AT_ONCE_MAX) {
      for (const lane of lanes) lane.wake();
      return;
    }
    for (const lane of lanes) {
      // An idle lane that does not know of the records would skip them.
      lane.wake(true);
      this.#waiting.add(lane);
    }
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.size > 0) {
      const startedAt = performance.now();
      for (const lane of this.#waiting.values().take(WAKES_AT_ONCE_MAX)) {
        this.#waiting.delete(lane);
        lane.wake();
      }
      // The lanes' work runs meanwhile, and delays the end of the sleep.
      await Bun.sleep(1);
      await Bun.sleep(performance.now() - startedAt);
    }
    this.#isRunning = false;
  }
}
