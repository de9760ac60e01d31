import { expect, test } from "bun:test";
import { CounterRing } from "../../src/figures/counter-ring.ts";
import { COUNTERS, COUNTS, latencyCounter } from "../../src/figures/row.ts";

test("counts of one slot add up, and old slots are overwritten", () => {
  const ring = new CounterRing(3, 10, 2);
  ring.add(100, 0);
  ring.add(105, 0, 4);
  ring.add(109, 1, 2);
  ring.add(110, 0, 7);
  const rows = (now: number) => [...ring.rows(now)].map(({ at, counts }) => [at, ...counts]);
  expect(rows(119)).toEqual([
    [90, 0, 0],
    [100, 5, 2],
    [110, 7, 0],
  ]);
  expect(ring.total(119)).toEqual({ sums: [12, 2], ms: 29 });
  expect(ring.slot(109)).toEqual(Uint32Array.of(5, 2));
  expect([ring.slot(90), ring.slot(120), ring.slot(80)]).toEqual([undefined, undefined, undefined]);
  expect(rows(130)).toEqual([
    [110, 7, 0],
    [120, 0, 0],
    [130, 0, 0],
  ]);
});

test("a latency counts in the first bucket that holds it, and the longest in the last", () => {
  expect([0, 1, 1.4, 1.5, 2, 1e9].map(latencyCounter)).toEqual([
    COUNTS,
    COUNTS,
    COUNTS + 1,
    COUNTS + 1,
    COUNTS + 2,
    COUNTERS - 1,
  ]);
});
