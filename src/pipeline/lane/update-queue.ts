/** Number of destinations whose lanes one slice starts or updates, which takes up to 100 ms. */
const UPDATES_AT_ONCE_MAX = 400;

/**
 * Starts and updates the lanes (one for each destination) of many destinations in slices. Between
 * two slices, the event loop is free for as long as the slice took. The start of a partition with
 * thousands of destinations thus does not stop heartbeats, requests and the lanes that run.
 */
export class UpdateQueue {
  readonly #update: (destinationId: string) => void;
  readonly #onError: (error: unknown, destinationId: string) => void;
  readonly #waiting = new Set<string>();
  #isRunning = false;

  /** `onError` is called with the first error of a slice; the other destinations are updated. */
  constructor(
    update: (destinationId: string) => void,
    onError: (error: unknown, destinationId: string) => void,
  ) {
    this.#update = update;
    this.#onError = onError;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** Updates the first destinations before it returns, and the others later. */
  add(destinationIds: Iterable<string>): void {
    for (const id of destinationIds) this.#waiting.add(id);
    this.#updateSlice();
    if (!this.isEmpty && !this.#isRunning) void this.#run();
  }

  clear(): void {
    this.#waiting.clear();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let sliceMs = 1; !this.isEmpty; ) {
      await Bun.sleep(1);
      await Bun.sleep(sliceMs);
      const startedAt = performance.now();
      this.#updateSlice();
      sliceMs = performance.now() - startedAt;
    }
    this.#isRunning = false;
  }

  #updateSlice(): void {
    let isFailing = false;
    for (const id of this.#waiting.values().take(UPDATES_AT_ONCE_MAX)) {
      this.#waiting.delete(id);
      try {
        this.#update(id);
      } catch (error) {
        if (!isFailing) this.#onError(error, id);
        isFailing = true;
      }
    }
  }
}
