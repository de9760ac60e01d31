import { LOG_FLUSH_INTERVAL_MS } from "../limits.ts";

/**
 * When the next batch goes to the disk: as soon as the last one is there, but not sooner than
 * `LOG_FLUSH_INTERVAL_MS` after that one went. A write costs 0.05 to 0.15 ms of CPU whatever its
 * size; a disk that takes it in 0.2 ms would have us pay that for every ten requests (at 64
 * connections 59,000 pixels per CPU-second became 70,000). A batch does not wait for records that
 * cannot come: it goes once it holds as many as were under way before, so that a single client, or
 * a few, never wait. On a disk that needs the interval for a write itself nothing waits at all.
 */
export class FlushPace {
  #startedAt = Number.NEGATIVE_INFINITY;
  #expected = 0;
  #go: (() => void) | undefined;

  constructor(readonly intervalMs: number = LOG_FLUSH_INTERVAL_MS) {}

  /** Resolves when a batch that holds `count` records now, and more soon, is to be written. */
  async due(count: number): Promise<void> {
    const waitMs = this.#startedAt + this.intervalMs - performance.now();
    if (waitMs <= 0 || count >= this.#expected) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#go = () => {
        clearTimeout(timer);
        // The rest of this turn's requests come along.
        setImmediate(resolve);
        this.#go = undefined;
      };
    });
    this.#go = undefined;
  }

  /** The batch that waits holds `count` records now. */
  grown(count: number): void {
    if (this.#go !== undefined && count >= this.#expected) this.#go();
  }

  started(): void {
    this.#startedAt = performance.now();
  }

  /** A batch of `count` records has ended, and `waiting` came meanwhile: so many are under way. */
  ended(count: number, waiting: number): void {
    this.#expected = count + waiting;
  }
}
