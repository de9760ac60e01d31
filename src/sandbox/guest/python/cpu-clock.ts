import { cpuTimeMs, recentCpuTimeMs } from "../cpu-time.ts";

const SIGINT = 2;
/**
 * Minimum milliseconds between two signals to Python. The runner (the Python code that calls user
 * code) needs this time after a signal to end the batch.
 */
const REST_MS = 10;

/**
 * Interrupt buffer that sends SIGINT to Python when its CPU time is used up. CPython
 * (`Python/emscripten_signal.c`) expects shared memory that another thread writes, and reads
 * element 0 in every 50th iteration of its evaluation loop. A getter replaces the thread.
 */
export class CpuClock {
  #lookAt = Number.POSITIVE_INFINITY;
  #endMs = 0;

  /**
   * Number of the signal for CPython, which reads this element of the interrupt buffer regularly:
   * SIGINT when the CPU time is used up, otherwise 0. After SIGINT, reads return 0 for `REST_MS`.
   */
  get 0(): number {
    const now = performance.now();
    if (now < this.#lookAt) return 0;
    const leftMs = this.#endMs - cpuTimeMs();
    this.#lookAt = now + Math.max(leftMs, REST_MS);
    return leftMs > 0 ? 0 : SIGINT;
  }

  /**
   * Ignores the value. CPython writes 0 to this element of the interrupt buffer after it has read a
   * signal. The getter alone decides whether a later read returns a signal.
   */
  set 0(_: number) {}

  /** Calls `step`, and signals Python once the step has used `budgetMs` of CPU time. */
  limit<T>(budgetMs: number, step: () => T): T {
    this.#endMs = recentCpuTimeMs() + budgetMs;
    this.#lookAt = performance.now() + budgetMs;
    try {
      return step();
    } finally {
      this.#lookAt = Number.POSITIVE_INFINITY;
    }
  }
}
