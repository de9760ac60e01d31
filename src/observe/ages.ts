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
 * Earliest time that a wall clock shows once it is set, in milliseconds since the epoch. A machine
 * whose clock has no battery starts in 1970.
 */
const SET_CLOCK_MS_MIN = Date.UTC(2026, 0);

interface AgeOf {
  /**
   * Returns the milliseconds that have passed since `at`, a time of the wall clock in milliseconds
   * since the epoch. At least 0. If the wall clock was set after `at`, returns the smallest
   * possible number.
   */
  (at: number): number;
  /**
   * Returns the earliest possible present time, in milliseconds since the epoch. Once the wall
   * clock is set, times before `SET_CLOCK_MS_MIN` are not possible. Without this rule, a machine
   * whose clock started in 1970 would never delete what is deleted by a range of times.
   */
  earliestNow(): number;
}

/**
 * Creates the function that computes ages. When the wall clock is set, its difference to the
 * monotonic clock `elapsed` changes; the function remembers the differences that it has seen. It
 * cannot know whether a given time was read before or after such a change, so it computes the age
 * with each difference and returns the smallest: what is new must never look old.
 */
export function createAges(wall: () => number, elapsed: () => number): AgeOf {
  let distances = [wall() - elapsed()];

  function checkStep(): void {
    const distance = wall() - elapsed();
    const isStep = Math.abs(distance - distances.at(-1)!) >= STEP_MS_MIN;
    distances = [...(isStep ? distances : distances.slice(0, -1)), distance].slice(-STEPS_MAX);
  }

  setInterval(checkStep, STEP_CHECK_MS).unref();
  /** Returns the present time by each remembered difference between the two clocks. */
  function times(): number[] {
    checkStep();
    return distances.map((distance) => elapsed() + distance);
  }

  function ageOf(at: number): number {
    const ages = times().map((time) => time - at);
    // The clock of the node that received an event may be a little ahead of this one.
    const possible = ages.filter((age) => age > -STEP_MS_MIN);
    return possible.length === 0 ? 0 : Math.max(0, Math.min(...possible));
  }

  function earliestNow(): number {
    const all = times();
    const possible = all.filter((time) => time >= SET_CLOCK_MS_MIN);
    return Math.min(...(possible.length > 0 ? possible : all));
  }

  return Object.assign(ageOf, { earliestNow });
}

/**
 * Computes ages by the clock of this machine. Code that deletes data because of its age uses this
 * function, so that nothing is deleted too early while the wall clock is ahead.
 */
export const ageOf: AgeOf = createAges(
  () => Date.now(),
  () => performance.now(),
);

export const { earliestNow } = ageOf;
