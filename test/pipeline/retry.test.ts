import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type EventFailures, isPoison, retryDelayMs } from "../../src/pipeline/delivering/retry.ts";
import {
  POISON_ATTEMPTS_MIN,
  RETRY_DELAY_MS_MAX,
  RETRY_DELAY_MS_MIN,
} from "../../src/settings/limits.ts";

describe("retry delay", () => {
  test.each([
    { attempts: 1, ceiling: 500 },
    { attempts: 2, ceiling: 1_000 },
    { attempts: 5, ceiling: 8_000 },
    { attempts: 8, ceiling: 60_000 },
    { attempts: 1_000_000, ceiling: 60_000 },
  ])("a retry delay after $attempts failures is at most $ceiling ms", ({ attempts, ceiling }) => {
    expect(retryDelayMs(attempts, 1)).toBe(ceiling);
    expect(retryDelayMs(attempts, 0)).toBe(0);
    expect(retryDelayMs(attempts, 0.5)).toBe(ceiling / 2);
  });

  test("a retry delay is at least what the receiver asks for", () => {
    expect(retryDelayMs(1, 0.5, 7_000)).toBe(7_000);
    expect(retryDelayMs(8, 1, 7_000)).toBe(RETRY_DELAY_MS_MAX);
  });

  test("a retry delay keeps its bounds", () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1 }), random, (attempts, chance) => {
        const delay = retryDelayMs(attempts, chance);
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThanOrEqual(Math.max(RETRY_DELAY_MS_MAX, RETRY_DELAY_MS_MIN));
      }),
    );
  });
});

describe("poison", () => {
  const poison = POISON_ATTEMPTS_MIN;
  test.each([
    { count: 0, others: [0, 0], is: false },
    { count: 1_000, others: [0, 0], is: false },
    { count: 1_000, others: [0, 9], is: false },
    { count: poison - 1, others: [9, 0], is: false },
    { count: poison, others: [1, 0], is: true },
    { count: poison, others: [98, 2], is: true },
    // A receiver that is overloaded: it is not this event.
    { count: poison, others: [55, 45], is: false },
    { count: 17, others: [55, 45], is: false },
    { count: 18, others: [55, 45], is: true },
  ])(
    "an event counts as poison by its failures and by the results of other events meanwhile: %j",
    ({ is, count, others: [othersTaken, othersFailed] }) => {
      const failures = { count, othersTaken, othersFailed } as EventFailures;
      expect(isPoison(failures)).toBe(is);
    },
  );
});
