import { expect, spyOn, test } from "bun:test";
import { correctedClock, Notifier, systemClock } from "../../src/pipeline/clock.ts";

const HOUR = 3_600_000;

test.each([HOUR, -HOUR])(
  "a clock that is wrong by %d ms is corrected, and makes no event older, once the error is known",
  (errorMs) => {
    const right = Date.now();
    const wall = spyOn(Date, "now").mockImplementation(() => right + errorMs);
    try {
      let known = 0;
      const clock = correctedClock(() => known);
      known = errorMs;
      expect(clock.now()).toBe(right);
      const ageMs = clock.age(right - 2 * HOUR);
      expect(ageMs).toBeLessThan(2 * HOUR + 60_000);
      if (errorMs > 0) expect(ageMs).toBeGreaterThanOrEqual(2 * HOUR);
    } finally {
      wall.mockRestore();
    }
  },
);

test("a wait for a time that has just passed sets no negative timer", async () => {
  const set = spyOn(globalThis, "setTimeout");
  await systemClock.sleep(-0.02, new Notifier());
  expect(set.mock.calls.map(([, ms]) => ms)).toEqual([0]);
  set.mockRestore();
});
