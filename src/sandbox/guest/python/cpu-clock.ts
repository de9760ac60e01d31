import { cpuTimeMs, recentCpuTimeMs } from "../cpu-time.ts";

const SIGINT = 2;
/** Time between two signals, in which the runner ends the batch. */
const REST_MS = 10;

/**
 * Tells Python that its CPU time is up. CPython on WebAssembly looks at element 0 of a signal
 * buffer at every 50th turn of its evaluation loop (`Python/emscripten_signal.c`), which is
 * meant to be shared memory that another thread writes. A getter needs no other thread, and
 * costs a look at the clock in 50 turns.
 */
export class CpuClock {
  #lookAt = Number.POSITIVE_INFINITY;
  #endMs = 0;

  /** What CPython reads: the number of a signal, or 0. */
  get 0(): number {
    const now = performance.now();
    if (now < this.#lookAt) return 0;
    const leftMs = this.#endMs - cpuTimeMs();
    this.#lookAt = now + Math.max(leftMs, REST_MS);
    return leftMs > 0 ? 0 : SIGINT;
  }

  /** CPython clears the signal that it took; this signal comes again while the time is up. */
  set 0(_: number) {}

  /** Runs a step that gets signals once it has used `budgetMs` of CPU time. */
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
