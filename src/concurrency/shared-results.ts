interface SharedResult {
  version: string;
  result: Promise<unknown>;
  /** Callers that wait for the result. When the last of them leaves, the computation is aborted. */
  waiting: number;
  stop: AbortController;
}

/**
 * Results of long computations, one for each key, which the callers that want them at about the same
 * time share. A result is shared until `ageMsMax` milliseconds after its computation began, and at
 * least until it has ended, so that slow computations do not pile up.
 */
export class SharedResults {
  readonly #latest = new Map<string, SharedResult>();

  constructor(readonly ageMsMax: number) {}

  /**
   * Returns the result of `compute` for a key, which stands for one kind of result. A caller with
   * another `version` than that of the latest computation gets a new one. Rejects with the reason
   * of `signal` when it is aborted; other callers still get the result.
   */
  async get<T>(
    { key, version }: { key: string; version: string },
    compute: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    signal.throwIfAborted();
    const latest = this.#latest.get(key);
    const shared = latest?.version === version ? latest : this.#begin(key, version, compute);
    const left = Promise.withResolvers<never>();
    const leave = () => left.reject(signal.reason);
    signal.addEventListener("abort", leave);
    shared.waiting++;
    try {
      return (await Promise.race([shared.result, left.promise])) as T;
    } finally {
      signal.removeEventListener("abort", leave);
      shared.waiting--;
      if (shared.waiting === 0 && signal.aborted) {
        this.#forget(key, shared);
        shared.stop.abort(signal.reason);
      }
    }
  }

  #begin<T>(key: string, version: string, compute: (signal: AbortSignal) => Promise<T>) {
    const stop = new AbortController();
    const shared: SharedResult = { version, result: compute(stop.signal), waiting: 0, stop };
    this.#latest.set(key, shared);
    const forget = () => this.#forget(key, shared);
    const aged = new Promise<void>((resolve) => setTimeout(resolve, this.ageMsMax).unref());
    Promise.all([shared.result, aged]).then(forget, forget);
    return shared;
  }

  #forget(key: string, shared: SharedResult): void {
    if (this.#latest.get(key) === shared) this.#latest.delete(key);
  }
}
