interface Waiter extends PromiseWithResolvers<void> {
  position: number;
}

/**
 * The log position up to which a node's view (its copy of the store) has applied the shared log.
 * Callers can wait until the view reaches a position.
 */
export class ViewProgress {
  #waiters: Waiter[] = [];
  /** Log position of the first entry that the view has not applied. */
  #next: number;
  /**
   * Whether the view has all rows. If log entries are deleted before the view has read them, the
   * view lacks rows. It has all rows again when it has read the compaction that replaced these
   * entries.
   */
  #isComplete: boolean;
  /** Error with which `fail` has ended the reading of the log; undefined before that. */
  #failure: Error | undefined;

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

  /**
   * Waits until the view has all rows and has applied all entries before `position`. Rejects with
   * the error passed to `fail` if the view stops reading the log before that.
   */
  async reach(position: number): Promise<void> {
    if (this.#hasReached(position)) return;
    if (this.#failure !== undefined) throw this.#failure;
    const waiter = { position, ...Promise.withResolvers<void>() };
    this.#waiters.push(waiter);
    await waiter.promise;
  }

  /**
   * Rejects the waiting calls of `reach` with `error`, because the view has stopped reading the
   * log. Later calls reject too, unless the view has reached their position.
   */
  fail(error: Error): void {
    this.#failure = error;
    for (const { reject } of this.#waiters.splice(0)) reject(error);
  }

  #hasReached(position: number): boolean {
    return this.#isComplete && this.#next >= position;
  }
}
