import { expect, test } from "bun:test";
import { backoffMs } from "../../src/concurrency/backoff.ts";
import { TokenBuckets } from "../../src/concurrency/rate-limiter.ts";
import { RateMeter } from "../../src/concurrency/rate-meter.ts";

test("a rate is that of the last window, and 0 after a window without occurrences", () => {
  const meter = new RateMeter();
  meter.add(1, 1_000);
  meter.add(5, 1_040);
  meter.add(4, 1_099);
  expect(meter.perSecond(1_100)).toBe(100);
  expect(meter.perSecond(1_150)).toBe(100);
  expect(meter.perSecond(1_200)).toBe(0);
});

test("the first window of a rate begins at the start of the clock", () => {
  const meter = new RateMeter();
  meter.add(10, 50);
  expect(meter.perSecond(100)).toBe(100);
});

test("a delay begins at the least, doubles with each failure, and is bounded", () => {
  const delays = [0, 1, 2, 3, 4, 5, 1_000].map((failures) => backoffMs(failures, 100, 900));
  expect(delays).toEqual([100, 100, 200, 400, 800, 900, 900]);
  expect(backoffMs(1_000, 1, Number.MAX_SAFE_INTEGER)).toBe(2 ** 30);
});

test("tokens that were taken without a limit are not owed once a limit is set", () => {
  let now = 0;
  const buckets = new TokenBuckets({ perSecond: 0, burst: 5, now: () => now });
  buckets.take("a", 100);
  expect(buckets.available("a")).toBe(Infinity);
  buckets.setRate({ perSecond: 1, burst: 5 });
  now = 1_000;
  expect(buckets.available("a")).toBe(5);
});
