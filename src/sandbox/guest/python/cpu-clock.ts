import { cpuTimeMs, recentCpuTimeMs } from "../cpu-time.ts";

const SIGINT = 2;
/**
 * Minimum milliseconds between two signals to Python. The runner (the Python code that calls user
 * code) needs this time after a signal to end the batch.
 */
const REST_MS = 10;

/**
 * Sends SIGINT to Python when its CPU time is used up. CPython on WebAssembly reads element 0 of a
 * signal buffer in every 50th iteration of its evaluation loop (`Python/emscripten_signal.c`). It
 * expects the buffer to be shared memory that another thread writes. No other thread is needed,
 * because the buffer is an instance of this class, whose element 0 is a getter that reads the
 * clock.
 */
export class CpuClock {
  #lookAt = Number.POSITIVE_INFINITY;
  #endMs = 0;

  /**
   * Element 0 of the interrupt buffer, which CPython reads regularly: the number of the signal to
   * handle, or 0. If the CPU time is used up, a read returns SIGINT. Reads in the next `REST_MS`
   * then return 0.
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
