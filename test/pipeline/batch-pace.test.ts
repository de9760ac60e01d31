import { expect, test } from "bun:test";
import { RateMeter } from "../../src/concurrency/rate-meter.ts";
import { BatchPace } from "../../src/pipeline/lane/batch-pace.ts";

const SECOND = 1_000;

/** Interval in milliseconds for a lane after a second of even batches of all lanes. */
function intervalAfter(batchesPerSecond: number, eventsPerSecond: number): number {
  const pace = new BatchPace();
  for (let n = 0; n <= batchesPerSecond; n++) pace.noteBatch((n * SECOND) / batchesPerSecond);
  return pace.intervalMs(eventsPerSecond, SECOND);
}

test("a lane waits the longer for a batch the more events it takes and the more batches all begin", () => {
  expect(intervalAfter(1, 0)).toBeLessThan(0.1);
  expect(intervalAfter(200, 200)).toBeCloseTo(2, 0);
  expect(intervalAfter(100, 1_000)).toBeCloseTo(5, 0);
  expect(intervalAfter(100, 2_000)).toBe(10);
  expect(intervalAfter(100, 1e6)).toBe(10);
  // A hundred lanes with few events each.
  expect(intervalAfter(2_000, 20)).toBe(10);
});

test("a rate is that of the last tenths of a second", () => {
  const meter = new RateMeter();
  expect(meter.perSecond(1e6)).toBe(0);
  for (let now = 1e6; now < 1e6 + SECOND; now += 10) meter.add(5, now);
  expect(meter.perSecond(1e6 + SECOND)).toBeCloseTo(500, -2);
  expect(meter.perSecond(1e6 + 3 * SECOND)).toBeLessThan(50);
  expect(meter.perSecond(1e6 + 4 * SECOND)).toBe(0);
});
