/** Number of destinations whose lanes one slice starts or updates, which takes up to 100 ms. */
const UPDATES_AT_ONCE_MAX = 400;
/** Pause in milliseconds before failed updates are tried again. */
const RETRY_MS = 1_000;

/**
 * Starts and updates the lanes (one for each destination) of many destinations in slices. Between
 * two slices, the event loop is free for as long as the slice took. The start of a partition with
 * thousands of destinations thus does not stop heartbeats, requests and the lanes that run. An update
 * that throws stops no other one, and is tried again after a pause.
 */
export class UpdateQueue {
  readonly #update: (destinationId: string) => void;
  readonly #onError: (error: unknown, destinationId: string) => void;
  readonly #waiting = new Set<string>();
  #isRunning = false;
  /** Destinations whose last update has failed. */
  readonly #failed = new Set<string>();
  #retry: ReturnType<typeof setTimeout> | undefined;

  /**
   * `onError` is called with the first error of each slice, and of each `updateNow`, except those of
   * destinations whose last update has failed as well.
   */
  constructor(
    update: (destinationId: string) => void,
    onError: (error: unknown, destinationId: string) => void,
  ) {
    this.#update = update;
    this.#onError = onError;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0 && this.#failed.size === 0;
  }

  /** Updates the first destinations before it returns, and the others later. */
  add(destinationIds: Iterable<string>): void {
    for (const id of destinationIds) this.#waiting.add(id);
    this.updateNow(this.#waiting.values().take(UPDATES_AT_ONCE_MAX));
    if (this.#waiting.size > 0 && !this.#isRunning) void this.#run();
  }

  clear(): void {
    clearTimeout(this.#retry);
    this.#waiting.clear();
    this.#failed.clear();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let sliceMs = 1; this.#waiting.size > 0; ) {
      await Bun.sleep(1);
      await Bun.sleep(sliceMs);
      const startedAt = performance.now();
      this.updateNow(this.#waiting.values().take(UPDATES_AT_ONCE_MAX));
      sliceMs = performance.now() - startedAt;
    }
    this.#isRunning = false;
  }

  /** Updates destinations before it returns, however many there are. */
  updateNow(destinationIds: Iterable<string>): void {
    let isTold = false;
    for (const id of destinationIds) {
      this.#waiting.delete(id);
      try {
        this.#update(id);
        this.#failed.delete(id);
      } catch (error) {
        if (!isTold && !this.#failed.has(id)) {
          this.#onError(error, id);
          isTold = true;
        }
        this.#failed.add(id);
      }
    }
    if (this.#failed.size > 0) this.#retry ??= setTimeout(() => this.#retryFailed(), RETRY_MS);
  }

  #retryFailed(): void {
    this.#retry = undefined;
    this.add(this.#failed);
  }
}
