import { describe, expect, test } from "bun:test";
import { ConcurrencyLimiter } from "../../src/concurrency/concurrency-limiter.ts";

describe("a concurrency limiter", () => {
  test("grants each owner its permits, and all owners together the total", () => {
    const limiter = new ConcurrencyLimiter({ perOwner: 2, total: 3 });
    const [first, second] = [limiter.tryAcquire("one"), limiter.tryAcquire("one")];
    expect(limiter.tryAcquire("one")).toBeUndefined();
    const third = limiter.tryAcquire("two");
    expect(limiter.tryAcquire("three")).toBeUndefined();
    first!.release();
    const fourth = limiter.tryAcquire("three");
    expect(fourth).toBeDefined();
    for (const permit of [second, third, fourth]) permit!.release();
    expect(limiter.tryAcquire("one")).toBeDefined();
  });

  test("says that an owner is full when it holds as many units as one may", () => {
    const limiter = new ConcurrencyLimiter({ perOwner: 3 });
    const fullAfter = (permits: number) => {
      const held = Array.from({ length: permits }, () => limiter.tryAcquire("one")!);
      const isFull = [limiter.isOwnerFull("one"), limiter.isOwnerFull("two")];
      for (const permit of held) permit.release();
      return isFull;
    };
    expect([0, 2, 3, 0].map(fullAfter)).toEqual([
      [false, false],
      [false, false],
      [true, false],
      [false, false],
    ]);
  });

  test("releases a permit at the end of a `using` block, also when the block throws", () => {
    const limiter = new ConcurrencyLimiter({ perOwner: 1 });
    const work = () => {
      using _permit = limiter.tryAcquire("one");
      throw new Error("as marked");
    };
    expect(work).toThrow("as marked");
    expect(work).toThrow("as marked");
  });

  test("refuses a second release of a permit, which would admit one too many", () => {
    const limiter = new ConcurrencyLimiter({ perOwner: 1 });
    const permit = limiter.tryAcquire("one");
    permit!.release();
    expect(() => permit!.release()).toThrow("A permit is released once");
    expect(limiter.tryAcquire("one")).toBeDefined();
    expect(limiter.tryAcquire("one")).toBeUndefined();
  });
});
