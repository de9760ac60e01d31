/** Runs calls with the same key one after another, in their order; other keys do not wait. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Resolves or rejects as `work` does; a call that fails does not stop the next one. */
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
