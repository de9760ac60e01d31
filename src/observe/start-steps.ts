import type { Logger } from "./log.ts";

/** Interval in milliseconds at which a step of the server's start is logged while it runs. */
const SLOW_MS = 5_000;

/**
 * Duration of each step of a start in milliseconds, by the step's name. The steps are in the order
 * in which they ended.
 */
export type StepDurations = Readonly<Record<string, number>>;

/**
 * Runs the steps of a server's start one after another. While a step takes long, logs it
 * repeatedly: a server that does not listen yet cannot answer `/ready`, so only the log can show
 * why it waits.
 */
export class StartSteps {
  readonly #durations: Record<string, number> = {};

  constructor(
    private readonly logger: Pick<Logger, "warn">,
    private readonly slowMs = SLOW_MS,
  ) {}

  /** Runs a step of the server's start. `step` says what it does, such as `read the catalog`. */
  async run<T>(step: string, work: () => T | Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const elapsedMs = () => Math.round(performance.now() - startedAt);
    const slow = setInterval(() => {
      const seconds = Math.round(elapsedMs() / 1_000);
      this.logger.warn({ step, seconds }, "the start is waiting");
    }, this.slowMs);
    try {
      return await work();
    } finally {
      clearInterval(slow);
      this.#durations[step] = elapsedMs();
    }
  }

  durations(): StepDurations {
    return { ...this.#durations };
  }
}
