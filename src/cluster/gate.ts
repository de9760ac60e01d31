export interface GateOptions {
  /** Whether what failed would succeed again; rejects while it would not. */
  probe(): Promise<unknown>;
  /** Whether anybody may still want to pass. */
  isOpen(): boolean;
}

/** Between two probes. */
const PROBE_MS = 250;

/**
 * Lets attempts pass until one fails. From then on each is refused at once, with the same reason,
 * until a probe succeeds: whoever asks brokers that are away must not wait every time for what is
 * known.
 */
export class Gate {
  readonly #options: GateOptions;
  #refusal: { reason: unknown } | undefined;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  async pass<T>(attempt: () => Promise<T>): Promise<T> {
    if (this.#refusal !== undefined) throw this.#refusal.reason;
    try {
      return await attempt();
    } catch (reason) {
      // Of several that fail together the first one shuts.
      if (this.#refusal === undefined) void this.#shut(reason);
      throw reason;
    }
  }

  async #shut(reason: unknown): Promise<void> {
    const { probe, isOpen } = this.#options;
    this.#refusal = { reason };
    while (isOpen() && this.#refusal !== undefined) {
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
