interface Waiter {
  position: number;
  resolve(): void;
  reject(error: unknown): void;
}

/** Position up to which a view has read its log, and the callers that wait for later positions. */
export class ViewProgress {
  #waiters: Waiter[] = [];
  /** Position of the first entry that the view has not applied. */
  #next: number;
  /** Whether the view has all rows; false while it reads a compaction after deleted entries. */
  #isComplete: boolean;

  constructor(next: number, isComplete: boolean) {
    this.#next = next;
    this.#isComplete = isComplete;
  }

  get next(): number {
    return this.#next;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  advance(next: number, isComplete: boolean): void {
    this.#next = next;
    this.#isComplete = isComplete;
    const waiters = this.#waiters;
    this.#waiters = waiters.filter((it) => !this.#hasReached(it.position));
    for (const it of waiters) if (this.#hasReached(it.position)) it.resolve();
  }

  /** Resolves once the view is complete and has applied all entries before a position. */
  async reach(position: number): Promise<void> {
    if (this.#hasReached(position)) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiters.push({ position, resolve, reject });
    await promise;
  }

  /** Rejects all open calls of `reach`, when the view cannot read further. */
  fail(error: unknown): void {
    for (const { reject } of this.#waiters.splice(0)) reject(error);
  }

  /** Resolves all open calls of `reach`, when the store is closed. */
  close(): void {
    for (const { resolve } of this.#waiters.splice(0)) resolve();
  }

  #hasReached(position: number): boolean {
    return this.#isComplete && this.#next >= position;
  }
}
