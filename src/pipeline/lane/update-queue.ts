import type { TimeSlicer } from "../../concurrency/time-slicer.ts";

/**
 * Number of destinations whose lanes `add` starts or updates before it returns. At first, an update
 * takes up to 0.25 ms; it takes less once the JavaScript engine has compiled the code.
 */
const UPDATES_AT_ONCE_MAX = 64;
/** Pause in milliseconds before failed updates are tried again. */
const RETRY_MS = 1_000;

/**
 * Starts and updates lanes (one for each destination) in short slices, with pauses for other work.
 * All partitions share one `slicer`, because one partition's slices would otherwise fill another's
 * pauses. Failed updates are retried.
 */
export class UpdateQueue {
  readonly #waiting = new Set<string>();
  #isRunning = false;
  /** Ids of the destinations for which the last call of `update` threw an error. */
  readonly #failed = new Set<string>();
  #retry: ReturnType<typeof setTimeout> | undefined;

  /**
   * `update` starts or updates the lane of one destination. `onError` is called when `update`
   * throws, unless a retry for any destination is scheduled already, or the destination's previous
   * `update` threw too.
   */
  constructor(
    private readonly slicer: TimeSlicer,
    private readonly update: (destinationId: string) => void,
    private readonly onError: (error: unknown, destinationId: string) => void,
  ) {}

  get isEmpty(): boolean {
    return this.#waiting.size === 0 && this.#failed.size === 0;
  }

  /** Queues updates. Runs the first `UPDATES_AT_ONCE_MAX` during the call, and the others later. */
  add(destinationIds: Iterable<string>): void {
    for (const id of destinationIds) this.#waiting.add(id);
    this.updateNow(this.#waiting.values().take(UPDATES_AT_ONCE_MAX));
    if (this.#waiting.size > 0 && !this.#isRunning) void this.#run();
  }

  /** Starts or updates the lane of each given destination at once; retries failed updates later. */
  updateNow(destinationIds: Iterable<string>): void {
    for (const id of destinationIds) this.#updateOne(id);
  }

  clear(): void {
    clearTimeout(this.#retry);
    this.#waiting.clear();
    this.#failed.clear();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.size > 0) {
      await this.slicer.each(this.#waiting, (id) => this.#updateOne(id));
    }
    this.#isRunning = false;
  }

  #updateOne(id: string): void {
    this.#waiting.delete(id);
    try {
      this.update(id);
      this.#failed.delete(id);
    } catch (error) {
      // While a retry is due, an error is logged already, and others mostly have its cause.
      if (this.#retry === undefined && !this.#failed.has(id)) this.onError(error, id);
      this.#failed.add(id);
      this.#retry ??= setTimeout(() => this.#retryFailed(), RETRY_MS);
    }
  }

  #retryFailed(): void {
    this.#retry = undefined;
    this.add(this.#failed);
  }
}
