/**
 * Condition variable. A notification wakes all functions and promises that wait for it at that
 * moment; it has no effect on later ones.
 */
export class Notifier {
  readonly #waiters = new Set<() => void>();

  /** Calls `call` once, at the next notification. The returned function cancels the call. */
  once(call: () => void): () => void {
    this.#waiters.add(call);
    return () => this.#waiters.delete(call);
  }

  /** Resolves at the next notification. */
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
  /** Milliseconds on a clock that is never set, for measuring durations. */
  elapsed(): number;
  /**
   * Returns the milliseconds that have passed since the time `at`, at least 0. `at` is in
   * milliseconds since the epoch, by the wall clock of this process or of another. If the wall
   * clock was set since `at`, the result is the smallest age that is possible, so that a new event
   * never looks old.
   */
  age(at: number): number;
  /** A random number from 0 inclusive to 1 exclusive. */
  random(): number;
  /** Resolves after `ms` milliseconds, or earlier when `until` is notified. */
  sleep(ms: number, until: Notifier): Promise<void>;
}

/** Interval in milliseconds at which `createAges` checks whether the wall clock was set. */
const STEP_CHECK_MS = 1_000;
/**
 * Smallest change in milliseconds that counts as setting the clock. Smaller changes are gradual
 * corrections, such as those by NTP.
 */
export const STEP_MS_MIN = 2_000;
/** Largest number of remembered differences between the wall clock and the monotonic clock. */
const STEPS_MAX = 16;

/**
 * Creates the function `age` of a clock. When the wall clock is set, its difference to the
 * monotonic clock `elapsed` changes; the function remembers the differences that it has seen. It
 * cannot know whether a given time was read before or after such a change, so it computes the age
 * with each difference and returns the smallest: a new event must never look old.
 */
export function createAges(wall: () => number, elapsed: () => number): (at: number) => number {
  let distances = [wall() - elapsed()];

  function checkStep(): void {
    const distance = wall() - elapsed();
    const isStep = Math.abs(distance - distances.at(-1)!) >= STEP_MS_MIN;
    distances = [...(isStep ? distances : distances.slice(0, -1)), distance].slice(-STEPS_MAX);
  }

  setInterval(checkStep, STEP_CHECK_MS).unref();
  return (at) => {
    checkStep();
    const ages = distances.map((distance) => elapsed() + distance - at);
    // The clock of the node that received an event may be a little ahead of this one.
    const possible = ages.filter((age) => age > -STEP_MS_MIN);
    return possible.length === 0 ? 0 : Math.max(0, Math.min(...possible));
  };
}

const elapsed = () => performance.now();

/**
 * Creates a clock whose wall clock is the system's, corrected by its error. `errorMs` returns by
 * how many milliseconds the system's wall clock is ahead (negative: behind). When the error
 * changes, the corrected clock counts as set, and `Clock.age` returns the smallest possible age.
 */
export function correctedClock(errorMs: () => number): Clock {
  const now = () => Date.now() - errorMs();
  return { ...systemClock, now, age: createAges(now, elapsed) };
}

export const systemClock: Clock = {
  now: Date.now,
  elapsed,
  age: createAges(Date.now, elapsed),
  random: Math.random,
  sleep(ms, until) {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        forget();
        resolve();
      }, ms);
      const forget = until.once(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  },
};
