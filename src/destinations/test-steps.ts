/** Steps of a connection test, in their order; a kind omits those that it does not have. */
export const testSteps = ["resolve", "connect", "tls", "sign-in", "write", "clean-up"] as const;
export type TestStepName = (typeof testSteps)[number];

/** The result of one step of a connection test. */
export interface TestStep {
  step: TestStepName;
  ok: boolean;
  /** Why the step failed, or a remark on a step that passed; one sentence. */
  message?: string;
  /** Whole milliseconds. */
  durationMs: number;
}

/** Records the steps of one connection test; each begins when the one before it ends. */
export class TestSteps {
  readonly done: TestStep[] = [];
  #startedAt = performance.now();

  /** Records a step that passed, with an optional remark. */
  passed(step: TestStepName, message?: string): void {
    const durationMs = this.#duration();
    this.done.push({ step, ok: true, ...(message !== undefined && { message }), durationMs });
  }

  /** Records the step that failed, which is the last one. */
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
