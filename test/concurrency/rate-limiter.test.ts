import { describe, expect, test } from "bun:test";
import { RATE_KEYS_MAX, TokenBuckets } from "../../src/concurrency/rate-limiter.ts";

/** Returns a function that takes a token of a key, and returns the seconds until it has one. */
function limiter(perSecond: number, now: () => number) {
  const buckets = new TokenBuckets({ perSecond, now });
  return (key: string) => {
    const wait = buckets.waitSeconds(key);
    if (wait === 0) buckets.take(key);
    return wait;
  };
}

describe("a rate limit", () => {
  test("admits the requests of two seconds at once, and then as many as the rate", () => {
    let now = 0;
    const take = limiter(5, () => now);
    expect(Array.from({ length: 11 }, () => take("a"))).toEqual([...Array(10).fill(0), 1]);
    now += 200;
    expect([take("a"), take("a")]).toEqual([0, 1]);
    now += 3_600_000;
    expect(Array.from({ length: 11 }, () => take("a"))).toEqual([...Array(10).fill(0), 1]);
  });

  test("is kept for each key", () => {
    const take = limiter(1, () => 0);
    expect([take("a"), take("a"), take("a"), take("b")]).toEqual([0, 0, 1, 0]);
  });

  test("below one a second tells how long to wait", () => {
    let now = 0;
    const take = limiter(0.1, () => now);
    expect([take("a"), take("a")]).toEqual([0, 10]);
    now += 4_000;
    expect(take("a")).toBe(6);
    now += 6_000;
    expect(take("a")).toBe(0);
  });

  test("of 0 means no limit", () => {
    const take = limiter(0, () => 0);
    expect(Array.from({ length: 1_000 }, () => take("a")).every((wait) => wait === 0)).toBe(true);
  });

  test("that is lifted lets a key pass that is in debt", () => {
    const buckets = new TokenBuckets({ perSecond: 1, now: () => 0 });
    buckets.take("a", 100);
    expect(buckets.waitSeconds("a")).toBe(99);
    buckets.setRate({ perSecond: 0 });
    expect(buckets.waitSeconds("a")).toBe(0);
  });

  test("has whole tokens, none of them in debt, and takes returned ones up to its burst", () => {
    let now = 0;
    const buckets = new TokenBuckets({ perSecond: 10, burst: 5, now: () => now });
    const available = (take: number) => {
      buckets.take("a", take);
      return buckets.available("a");
    };
    expect([available(0), available(1), available(7)]).toEqual([5, 4, 0]);
    buckets.give("a", 4);
    expect(buckets.available("a")).toBe(1);
    now += 150;
    expect(buckets.available("a")).toBe(2);
    buckets.give("a", 100);
    expect([available(0), available(1)]).toEqual([5, 4]);
  });

  test("forgets the key that was used longest ago, and no other", () => {
    const take = limiter(1, () => 0);
    take("first");
    take("second");
    for (let n = 2; n < RATE_KEYS_MAX; n++) take(`key ${n}`);
    take("second");
    take("one more");
    expect([take("second"), take("first"), take("first"), take("first")]).toEqual([1, 0, 0, 1]);
  });

  test("forgets no key before there are more than it stores", () => {
    const buckets = new TokenBuckets({ perSecond: 1, now: () => 0 });
    buckets.take("first", 2);
    for (let n = 1; n < RATE_KEYS_MAX; n++) buckets.take(`key ${n}`);
    expect(buckets.waitSeconds("first")).toBe(1);
    buckets.take("one more");
    expect(buckets.waitSeconds("first")).toBe(0);
  });

  test("counts what a request cost beyond one token", () => {
    let now = 0;
    const buckets = new TokenBuckets({ perSecond: 10, burst: 100, now: () => now });
    buckets.take("a", 150);
    expect([buckets.waitSeconds("a"), buckets.waitSeconds("b")]).toEqual([6, 0]);
    now += 5_100;
    expect(buckets.waitSeconds("a")).toBe(0);
    now += 1_000_000;
    buckets.take("a", 100);
    expect(buckets.waitSeconds("a")).toBe(1);
  });
});
