/** Interval in milliseconds at which `createAges` checks whether the wall clock was set. */
const STEP_CHECK_MS = 1_000;
/**
 * Smallest change of the wall clock, in milliseconds, that counts as setting it. Smaller changes
 * are gradual corrections, such as those by NTP.
 */
export const STEP_MS_MIN = 2_000;
/** Largest number of remembered differences between the wall clock and the monotonic clock. */
const STEPS_MAX = 16;

/**
 * Earliest time that a correctly set wall clock can show, in milliseconds since the epoch. A clock
 * without a battery starts in 1970 and shows an earlier time until it is set.
 */
const SET_CLOCK_MS_MIN = Date.UTC(2026, 0);

/**
 * Creates a function that computes the age of a time of the wall clock; `elapsed` is a monotonic
 * clock. If the wall clock was set, several ages are possible, and the function returns the
 * smallest, so that new data never looks old.
 */
export function createAges(wall: () => number, elapsed: () => number) {
  let distances = [wall() - elapsed()];

  function checkStep(): void {
    const distance = wall() - elapsed();
    const isStep = Math.abs(distance - distances.at(-1)!) >= STEP_MS_MIN;
    distances = [...(isStep ? distances : distances.slice(0, -1)), distance].slice(-STEPS_MAX);
  }

  setInterval(checkStep, STEP_CHECK_MS).unref();
  function times(): number[] {
    checkStep();
    return distances.map((distance) => elapsed() + distance);
  }

  /**
   * Returns the number of milliseconds since `at`, a time of the wall clock in milliseconds since
   * the epoch; at least 0. If the wall clock was set, returns the smallest possible age.
   */
  function ageOf(at: number): number {
    const ages = times().map((time) => time - at);
    // The clock of the node that received an event may be a little ahead of this one.
    const possible = ages.filter((age) => age > -STEP_MS_MIN);
    return possible.length === 0 ? 0 : Math.max(0, Math.min(...possible));
  }

  /**
   * Returns the earliest possible present time in milliseconds since the epoch; several are
   * possible if the wall clock was set. Ignores those before `SET_CLOCK_MS_MIN` if there are
   * others, because a machine whose clock started in 1970 would never delete old data.
   */
  function earliestNow(): number {
    const all = times();
    const possible = all.filter((time) => time >= SET_CLOCK_MS_MIN);
    return Math.min(...(possible.length > 0 ? possible : all));
  }

  return Object.assign(ageOf, { earliestNow });
}

/**
 * Computes ages by the clock of this machine. Code that deletes data by age uses this function, so
 * that it deletes nothing too early, even if the wall clock was ahead for some time.
 */
export const ageOf = createAges(
  () => Date.now(),
  () => performance.now(),
);

export const { earliestNow } = ageOf;
