import { cpuTimeMs, recentCpuTimeMs } from "../cpu-time.ts";

const SIGINT = 2;
/** Time between two signals, in which the runner ends the batch. */
const REST_MS = 10;

/**
 * Signals Python when its CPU time is used up. CPython on WebAssembly looks at element 0 of a signal
 * buffer at every 50th iteration of its evaluation loop (`Python/emscripten_signal.c`), which is
 * meant to be shared memory that another thread writes. A getter needs no other thread, and
 * costs one reading of the clock in 50 iterations.
 */
export class CpuClock {
  #lookAt = Number.POSITIVE_INFINITY;
  #endMs = 0;

  /** The number of a signal, or 0; CPython reads it. */
  get 0(): number {
    const now = performance.now();
    if (now < this.#lookAt) return 0;
    const leftMs = this.#endMs - cpuTimeMs();
    this.#lookAt = now + Math.max(leftMs, REST_MS);
    return leftMs > 0 ? 0 : SIGINT;
  }

  /** Ignores CPython's reset of the signal: it comes again while the time is used up. */
  set 0(_: number) {}

  /** Runs a step, which is signalled once it has used `budgetMs` of CPU time. */
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
