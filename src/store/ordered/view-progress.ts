interface Waiter {
  position: number;
  resolve(): void;
  reject(error: unknown): void;
}

/** How far a node's view has read its log, and who waits for it to read further. */
export class ViewProgress {
  #waiters: Waiter[] = [];
  /** Position of the first entry that is not in the view. */
  #next: number;
  /** The view has all rows of its version. */
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

  /** Resolves once the view is complete and has the entries before a position. */
  async reach(position: number): Promise<void> {
    if (this.#hasReached(position)) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiters.push({ position, resolve, reject });
    await promise;
  }

  /** Nothing more is read: rejects all who wait. */
  fail(error: unknown): void {
    for (const { reject } of this.#waiters.splice(0)) reject(error);
  }

  /** The store is closed: resolves all who wait. */
  close(): void {
    for (const { resolve } of this.#waiters.splice(0)) resolve();
  }

  #hasReached(position: number): boolean {
    return this.#isComplete && this.#next >= position;
  }
}
