/** What a connection test tries, in this order; a kind leaves out what it does not have. */
export const testSteps = ["resolve", "connect", "tls", "sign-in", "write", "clean-up"] as const;
export type TestStepName = (typeof testSteps)[number];

/** One step of a connection test, and how it ended. */
export interface TestStep {
  step: TestStepName;
  ok: boolean;
  /** Why the step failed, or what somebody should know of one that went well, in a sentence. */
  message?: string;
  /** Whole milliseconds. */
  durationMs: number;
}

/**
 * The steps of one connection test: each begins where the one before ended. What happens inside one
 * request is told with `passed`; whatever fails then is the step that was begun.
 */
export class TestSteps {
  readonly done: TestStep[] = [];
  #startedAt = performance.now();

  /** This step went well; `message` says what else there is to know. */
  passed(step: TestStepName, message?: string): void {
    const durationMs = this.#duration();
    this.done.push({ step, ok: true, ...(message !== undefined && { message }), durationMs });
  }

  failed(step: TestStepName, message: string): void {
    this.done.push({ step, ok: false, message, durationMs: this.#duration() });
  }

  #duration(): number {
    const now = performance.now();
    const ms = Math.round(now - this.#startedAt);
    this.#startedAt = now;
    return ms;
  }
}
