/**
 * Runs calls with the same key one after another, in the order of the calls. Calls with different
 * keys run concurrently.
 */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  /**
   * Calls `work` when all earlier calls of `run` with the same key have ended, and settles as
   * `work` does. If a call fails, the next one still runs.
   */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const call = before.catch(() => {}).then(work);
    this.#last.set(key, call);
    try {
      return await call;
    } finally {
      if (this.#last.get(key) === call) this.#last.delete(key);
    }
  }
}
