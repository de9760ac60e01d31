/**
 * Condition variable: waiters resume at the next notification; a notification without waiters is
 * lost.
 */
export class Notifier {
  readonly #waiters = new Set<() => void>();

  /** Calls back at the next notification, unless the returned function was called before. */
  once(call: () => void): () => void {
    this.#waiters.add(call);
    return () => this.#waiters.delete(call);
  }

  /** Resolves with the next notification. */
  wait(): Promise<void> {
    return new Promise((resolve) => this.once(resolve));
  }

  /** The result of `work`; undefined when a notification comes first. */
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

/** Clock and random numbers, which tests replace. */
export interface Clock {
  /** Whole milliseconds since the epoch. */
  now(): number;
  /** Monotonic milliseconds: changes of the wall clock do not affect them. */
  elapsed(): number;
  /**
   * Milliseconds since the wall clock, of this process or another, showed this time: at least 0.
   * Steps of the clock during the life of this process do not add to the age.
   */
  age(at: number): number;
  /** From 0 inclusive to 1 exclusive. */
  random(): number;
  /** Resolves after `ms`, or at the next notification of `until`. */
  sleep(ms: number, until: Notifier): Promise<void>;
}

/** How often the wall clock is checked for a step. */
const STEP_CHECK_MS = 1_000;
/** Smallest difference that counts as a step; smaller ones are gradual corrections. */
const STEP_MS_MIN = 2_000;
/** Steps that are remembered. */
const STEPS_MAX = 16;

/**
 * Ages by the wall clock, before and after its steps. A step shows as a changed difference between
 * the wall clock and the clock that only grows. A time may have been shown before the step or after
 * it; the youngest possible age is taken, so that setting the clock makes no fresh event an old
 * one.
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
    const ages = distances.map((distance) => elapsed() + distance - at).filter((age) => age >= 0);
    return ages.length === 0 ? 0 : Math.min(...ages);
  };
}

const elapsed = () => performance.now();

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
