export interface CircuitBreakerOptions {
  /** Resolves when attempts would succeed again; rejects while they would not. */
  probe(): Promise<unknown>;
  /** Whether attempts may still follow; probes stop when not. */
  isNeeded(): boolean;
}

/** Pause between two probes. */
const PROBE_MS = 250;

/**
 * Runs attempts until one fails. Then rejects each at once with the same reason until a probe
 * succeeds, so that callers do not wait for brokers that are known to be away.
 */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  #refusal: { reason: unknown } | undefined;

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
  }

  async run<T>(attempt: () => Promise<T>): Promise<T> {
    if (this.#refusal !== undefined) throw this.#refusal.reason;
    try {
      return await attempt();
    } catch (reason) {
      // The first of several concurrent failures opens the breaker.
      if (this.#refusal === undefined) void this.#open(reason);
      throw reason;
    }
  }

  async #open(reason: unknown): Promise<void> {
    const { probe, isNeeded } = this.#options;
    this.#refusal = { reason };
    while (isNeeded() && this.#refusal !== undefined) {
      await Bun.sleep(PROBE_MS);
      try {
        await probe();
        this.#refusal = undefined;
      } catch {
        // The loop probes again.
      }
    }
  }
}
