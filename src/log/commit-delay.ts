/**
 * Milliseconds from the start of a flush within which the next one waits for more records, and the
 * longest such wait.
 */
const FLUSH_DELAY_MS = 1;
/**
 * Number of records per `FLUSH_DELAY_MS` from which a flush waits. With fewer, the timer costs as
 * much CPU as the flushes that it saves.
 */
const COMMIT_DELAY_RECORDS_MIN = 4;

/**
 * The delay of a flush, in which more records join it. A flush costs 0.05 to 0.2 ms of CPU at any
 * size, so with many small ones the flushes would cost more than all other work.
 */
export class CommitDelay {
  readonly #expectsMore: () => boolean;
  readonly #now: () => number;
  #flushedAt = Number.NEGATIVE_INFINITY;
  /** Ends the wait for more records; undefined while no flush waits. */
  #end: (() => void) | undefined;

  /** `expectsMore` returns whether more records may come before those that wait are durable. */
  constructor(expectsMore: () => boolean, now = () => performance.now()) {
    this.#expectsMore = expectsMore;
    this.#now = now;
  }

  /** Must be called when a flush begins. */
  flushBegins(): void {
    this.#flushedAt = this.#now();
  }

  /** Must be called for each record. Ends the wait when no more records can come. */
  recordAdded(): void {
    if (this.#end !== undefined && !this.#expectsMore()) this.#end();
  }

  /**
   * Waits for the records of this turn of the event loop. When the last flush began shortly before
   * and records come fast, also waits for more. `count` returns the number of records that wait.
   */
  async wait(count: () => number): Promise<void> {
    await new Promise(setImmediate);
    const share = (this.#now() - this.#flushedAt) / FLUSH_DELAY_MS;
    if (share >= 1 || count() < share * COMMIT_DELAY_RECORDS_MIN || !this.#expectsMore()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#end = resolve;
    const timer = setTimeout(resolve, FLUSH_DELAY_MS);
    await promise;
    clearTimeout(timer);
    this.#end = undefined;
  }
}
