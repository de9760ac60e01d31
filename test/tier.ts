import type { Missing } from "./counterpart.ts";

/**
 * Tiers of the suite: `npm test` runs the quick tier, `npm run test:long` the long one. Files named
 * `*.long.test.ts` run in the long tier alone; files that use `runs` run in both.
 */
export const tierVariable = "TEST_TIER";

/** Whether the quick tier runs, in which costly tests leave something out. */
export const isQuickTier = process.env[tierVariable] === "quick";

/** The reason why a test with a cost of seconds is skipped in the quick tier. */
export const longTierMissing: Missing = isQuickTier ? "runs in the long tier" : undefined;

/**
 * Returns every `step`-th of `items` in the quick tier, beginning with item `first`. Returns all of
 * them in the long tier and without the runner.
 */
export const sample = <T>(items: readonly T[], first = 0, step = 4): T[] =>
  items.filter((_, index) => !isQuickTier || index % step === first % step);

/**
 * The tests of this tier: the quick tier runs all but the costly ones, the long tier the costly
 * ones, since CI runs both. Without the runner all run.
 */
export function testsOfTier<T>(all: readonly T[], isCostly: (test: T) => boolean): T[] {
  const tier = process.env[tierVariable];
  return all.filter((test) => tier === undefined || isCostly(test) === (tier === "long"));
}

/** Runs of a property: some in the quick tier, more in the long tier. */
export const runs = (quick: number, long: number): number =>
  process.env[tierVariable] === "long" ? long : quick;
