import { expect, test } from "bun:test";
import { WakeQueue } from "../../src/pipeline/lane/wake-queue.ts";
import { numbersTo } from "./rig.ts";

/** Lanes that note what is done to them. */
function sleepers(count: number) {
  const noted: number[] = [];
  const woken: number[] = [];
  const lanes = numbersTo(count).map((n) => ({
    wake: (later = false) => void (later ? noted : woken).push(n),
  }));
  return { lanes, noted, woken };
}

test("few lanes are woken at once", () => {
  const { lanes, woken } = sleepers(20);
  new WakeQueue().wake(lanes);
  expect(woken).toEqual(numbersTo(20));
});

test("many lanes all learn of the records at once, and are woken some at a time", async () => {
  const { lanes, noted, woken } = sleepers(1_000);
  const queue = new WakeQueue();
  queue.wake(lanes);
  expect([noted.length, woken.length]).toEqual([1_000, 32]);
  // New records meanwhile wake a lane that waits once.
  queue.wake(lanes.slice(500));
  const steps = new Set<number>();
  while (woken.length < 1_000) {
    steps.add(woken.length);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(steps.size).toBeGreaterThanOrEqual(Math.floor(1_000 / 32));
  expect(woken.toSorted((a, b) => a - b)).toEqual(numbersTo(1_000));
  // The queue begins again after its end.
  await Bun.sleep(20);
  queue.wake(lanes);
  while (woken.length < 2_000) await Bun.sleep(1);
});
