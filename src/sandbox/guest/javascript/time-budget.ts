import { cpuTimeMs, recentCpuTimeMs } from "../cpu-time.ts";
import type { Realm } from "./realm.ts";
import type { RunnerStep } from "./runner/runner-source.ts";

/**
 * Wall-clock time that user code may use for one request. The time in which it waits for host calls
 * (calls of functions that the server executes, such as `fetch`) does not count.
 */
export class TimeBudget {
  readonly #cpuBeforeMs = recentCpuTimeMs();
  #leftMs: number;

  constructor(ms: number) {
    this.#leftMs = ms;
  }

  /** CPU time in ms of this process since the budget was created. */
  get usedCpuMs(): number {
    return cpuTimeMs() - this.#cpuBeforeMs;
  }

  /**
   * Runs a step of the runner (the code that calls user functions) within the remaining time.
   * Throws `ScriptTimeout` when the step takes longer.
   */
  step(realm: Realm, step: RunnerStep): void {
    this.spend((leftMs) => realm.step(step, leftMs));
  }

  /**
   * Calls `run` with the remaining time in whole milliseconds, and subtracts the duration of the
   * call from the remaining time. The budget does not interrupt the call: `run` must stop in time
   * by itself.
   */
  spend<T>(run: (leftMs: number) => T): T {
    const start = performance.now();
    try {
      return run(Math.max(1, Math.ceil(this.#leftMs)));
    } finally {
      this.#leftMs -= performance.now() - start;
    }
  }
}
