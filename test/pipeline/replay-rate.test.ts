import { expect, test } from "bun:test";
import { roundRobin } from "../../src/pipeline/lane/round-robin.ts";
import { TRANSFORM_BATCH_EVENTS } from "../../src/pipeline/limits.ts";
import { ReplayRate } from "../../src/pipeline/replays/replay-rate.ts";

/** A rate with a clock that the test moves. */
function setup() {
  const clock = { ms: 1_000 };
  const rate = new ReplayRate({ elapsed: () => clock.ms });
  return { clock, rate };
}

test("a replay begins without a burst, and then releases what its rate earns", () => {
  const { clock, rate } = setup();
  expect(rate.due(1_000, 1_000)).toEqual({ count: 0, waitMs: 100 });
  clock.ms += 60;
  expect(rate.due(1_000, 1_000)).toEqual({ count: 0, waitMs: 40 });
  clock.ms += 40;
  expect(rate.due(1_000, 1_000)).toEqual({ count: 100, waitMs: 0 });
  rate.spend(100);
  expect(rate.due(1_000, 1_000)).toEqual({ count: 0, waitMs: 100 });
  // The last events need no full group.
  clock.ms += 7;
  expect(rate.due(7, 1_000)).toEqual({ count: 7, waitMs: 0 });
  // A pause earns 100 ms at most.
  clock.ms += 60_000;
  expect(rate.due(1_000, 1_000)).toEqual({ count: 100, waitMs: 0 });
});

test("a fast replay releases a batch as soon as it may, and a slow one single events", () => {
  const { clock, rate } = setup();
  const fast = 10_000;
  expect(rate.due(5_000, fast).waitMs).toBe((1_000 * TRANSFORM_BATCH_EVENTS) / fast);
  clock.ms += 50;
  expect(rate.due(5_000, fast)).toEqual({ count: 500, waitMs: 0 });
  const slow = setup();
  expect(slow.rate.due(5, 0.5)).toEqual({ count: 0, waitMs: 2_000 });
  slow.clock.ms += 60_000;
  expect(slow.rate.due(5, 0.5)).toEqual({ count: 1, waitMs: 0 });
});

test("a round takes the values in turn, each at most once, as they come and go", () => {
  const map = new Map([..."abcd"].map((it) => [it, it]));
  const take = roundRobin(map);
  expect(take(3).join("")).toBe("abc");
  expect(take(3).join("")).toBe("dab");
  expect(take(9).toSorted().join("")).toBe("abcd");
  map.delete("a");
  map.set("e", "e");
  expect(take(4).toSorted().join("")).toBe("bcde");
  expect(take(0)).toEqual([]);
  map.clear();
  expect(take(2)).toEqual([]);
});
