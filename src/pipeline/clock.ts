import { ageOf, createAges } from "../observe/ages.ts";

/**
 * Condition variable: a notification wakes everything that waits for it at that moment. Waits that
 * begin later need the next notification.
 */
export class Notifier {
  readonly #waiters = new Set<() => void>();

  /** Calls `call` once, at the next notification. The returned function cancels the call. */
  once(call: () => void): () => void {
    this.#waiters.add(call);
    return () => this.#waiters.delete(call);
  }

  /** Resolves at the next call of `notify`. */
  wait(): Promise<void> {
    return new Promise((resolve) => this.once(resolve));
  }

  /** Resolves with the result of `work`, or with undefined when a notification comes first. */
  async unlessNotified<T>(work: Promise<T>): Promise<T | undefined> {
    const { promise: notified, resolve } = Promise.withResolvers<undefined>();
    const forget = this.once(() => resolve(undefined));
    return await Promise.race([work, notified]).finally(forget);
  }

  notify(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const call of waiters) call();
  }
}

/** The clock and the random numbers of the pipeline. Tests replace them. */
export interface Clock {
  /** Current wall-clock time, in whole milliseconds since the epoch. */
  now(): number;
  /** Time of a monotonic clock in milliseconds, for measuring durations. */
  elapsed(): number;
  /**
   * Returns the age in milliseconds, at least 0, of `at`, a wall-clock time in milliseconds since
   * the epoch. If this process's clock was set, returns the smallest possible age, so that new
   * events never look old.
   */
  age(at: number): number;
  /** A random number from 0 inclusive to 1 exclusive. */
  random(): number;
  /** Resolves after `ms` milliseconds, or when `until` is notified. A negative `ms` counts as 0. */
  sleep(ms: number, until: Notifier): Promise<void>;
}

const elapsed = () => performance.now();

/**
 * Creates a clock that shows the system's wall-clock time minus `errorMs()`, the milliseconds by
 * which the system's clock is ahead (negative if behind). For `age`, a jump of the corrected time
 * by `STEP_MS_MIN` or more counts as setting the clock.
 */
export function correctedClock(errorMs: () => number): Clock {
  const now = () => Date.now() - errorMs();
  return { ...systemClock, now, age: createAges(now, elapsed) };
}

export const systemClock: Clock = {
  now: Date.now,
  elapsed,
  age: ageOf,
  random: Math.random,
  sleep(ms, until) {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        forget();
        resolve();
      };
      const timer = setTimeout(end, Math.max(0, ms));
      const forget = until.once(end);
    });
  },
};
