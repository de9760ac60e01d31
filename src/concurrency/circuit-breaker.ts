import { InvariantError } from "../assert.ts";

export interface CircuitBreakerOptions {
  /** Tests whether the server answers calls again. Rejects if it does not. */
  probe(): Promise<unknown>;
  /**
   * Returns whether callers still need the server. The breaker asks before each probe. If the
   * answer is false, the probes stop, and all calls stay rejected.
   */
  isNeeded(): boolean;
}

/** Pause in milliseconds before each probe of the server. */
const PROBE_MS = 250;

/**
 * Runs calls to another server. After a failed call, rejects all calls at once with its error until
 * a probe succeeds, so that callers do not wait for timeouts. An `InvariantError` of a probe
 * replaces the error.
 */
export class CircuitBreaker {
  #refusal: { reason: unknown } | undefined;

  constructor(private readonly options: CircuitBreakerOptions) {}

  async run<T>(attempt: () => Promise<T>): Promise<T> {
    if (this.#refusal !== undefined) throw this.#refusal.reason;
    try {
      return await attempt();
    } catch (reason) {
      // When several attempts fail together, the first failure opens the circuit.
      if (this.#refusal === undefined) void this.#open(reason);
      throw reason;
    }
  }

  async #open(reason: unknown): Promise<void> {
    const { probe, isNeeded } = this.options;
    this.#refusal = { reason };
    while (isNeeded() && this.#refusal !== undefined) {
      await Bun.sleep(PROBE_MS);
      try {
        await probe();
        this.#refusal = undefined;
      } catch (error) {
        // The loop continues to probe. A broken invariant is another reason than the one that
        // opened the circuit, so calls are rejected with it until a probe succeeds.
        if (error instanceof InvariantError) this.#refusal = { reason: error };
      }
    }
  }
}
