import { unlessAborted } from "./unless-aborted.ts";

interface SharedResult {
  version: string;
  result: Promise<unknown>;
  /** Number of callers that wait for the result. Once all have aborted, the computation stops. */
  waiting: number;
  stop: AbortController;
}

/**
 * Shares the result of a long computation between callers with the same key, for `ageMsMax`
 * milliseconds from its start. A longer computation is shared until it ends, so that slow
 * computations do not pile up.
 */
export class SharedResults {
  readonly #latest = new Map<string, SharedResult>();

  constructor(readonly ageMsMax: number) {}

  /**
   * Returns the shared result for the key if it has the same `version`; otherwise calls `compute`
   * and shares its result. Rejects with the reason of `signal` when it is aborted; other callers
   * still get the result.
   */
  async get<T>(
    { key, version }: { key: string; version: string },
    compute: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    signal.throwIfAborted();
    const latest = this.#latest.get(key);
    const shared = latest?.version === version ? latest : this.#begin(key, version, compute);
    shared.waiting++;
    try {
      return (await unlessAborted(shared.result, signal)) as T;
    } finally {
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
