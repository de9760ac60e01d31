import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type FailedAttempts,
  isGivenUp,
  retryDelayMs,
} from "../../src/pipeline/delivering/retry.ts";
import {
  POISON_ATTEMPTS_MAX,
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

describe("giving up", () => {
  const window = 3_600_000;
  test.each([
    { attempts: 0, ageMs: 9e9, others: [9, 0], hopeless: false },
    { attempts: 1, ageMs: window, others: [0, 0], hopeless: false },
    { attempts: 1, ageMs: window + 1, others: [0, 0], hopeless: true },
    { attempts: 1_000, ageMs: 1, others: [0, 0], hopeless: false },
    { attempts: POISON_ATTEMPTS_MAX - 1, ageMs: 1, others: [9, 0], hopeless: false },
    { attempts: POISON_ATTEMPTS_MAX, ageMs: 1, others: [9, 0], hopeless: true },
    { attempts: POISON_ATTEMPTS_MAX, ageMs: 1, others: [9, 8], hopeless: true },
    // A receiver that is overloaded: it is not this event.
    { attempts: POISON_ATTEMPTS_MAX, ageMs: 1, others: [9, 9], hopeless: false },
  ])(
    "an event is given up, or retried, by its attempts and age: %j",
    ({ hopeless, attempts, ageMs, others: [othersDelivered, othersFailed] }) => {
      const failing = { attempts, ageMs, othersDelivered, othersFailed } as FailedAttempts;
      expect(isGivenUp(failing, window)).toBe(hopeless);
    },
  );
});
