export interface CircuitBreakerOptions {
  /** Whether what failed would succeed again; rejects while it would not. */
  probe(): Promise<unknown>;
  /** Whether anybody may still want to pass. */
  isNeeded(): boolean;
}

/** Between two probes. */
const PROBE_MS = 250;

/**
 * Lets attempts pass until one fails. From then on each is refused at once, with the same reason,
 * until a probe succeeds: whoever asks brokers that are away must not wait every time for what is
 * known.
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
      // Of several that fail together the first one shuts.
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
        // It is probed again.
      }
    }
  }
}
