import { expect, test } from "bun:test";
import type { Connection } from "../../src/catalog/model.ts";
import type { Positions } from "../../src/log/positions.ts";
import { LivePeriods } from "../../src/pipeline/reading/live-periods.ts";

const connection = (id: string, from: Positions, more = {}) =>
  ({ id, from, ...more }) as Connection;
const mapOf = (...all: Connection[]) => new Map(all.map((it) => [it.id, it]));

test("a new period begins once, and tells the start of the one before", () => {
  const periods = new LivePeriods({ a: { "0": 5 }, gone: { "0": 1 } }, () => false);
  const [same, moved] = [connection("a", { "0": 5 }), connection("a", { "0": 9 })];
  const added = connection("b", { "0": 7 });
  expect(periods.update(mapOf(same, added))).toEqual({
    begun: [{ connection: added, known: undefined }],
    ended: ["gone"],
  });
  expect(periods.record()).toEqual({ a: { "0": 5 }, b: { "0": 7 } });
  expect(periods.update(mapOf(same, added))).toEqual({ begun: [], ended: [] });
  expect(periods.update(mapOf(moved, added)).begun).toEqual([
    { connection: moved, known: { "0": 5 } },
  ]);
  expect(periods.record()).toEqual({ a: { "0": 9 }, b: { "0": 7 } });
  expect(periods.update(mapOf(moved)).ended).toEqual(["b"]);
  expect(periods.record()).toEqual({ a: { "0": 9 } });
});

test("a connection that was never live has no period", () => {
  const periods = new LivePeriods({ a: { "0": 5 } }, () => false);
  const paused = connection("a", { "0": 5 }, { until: { "0": 5 } });
  expect(periods.update(mapOf(paused))).toEqual({ begun: [], ended: [] });
  expect(periods.record()).toEqual({});
});

test("while older records are read, the period before counts, or none", () => {
  let isLate = false;
  const periods = new LivePeriods({ a: { "0": 5 } }, () => isLate);
  periods.update(mapOf(connection("a", { "0": 9 }), connection("b", { "0": 9 })));
  isLate = true;
  expect(periods.record()).toEqual({ a: { "0": 5 } });
  // A further period meanwhile leaves the start as it was before all of them.
  periods.update(mapOf(connection("a", { "0": 12 }), connection("b", { "0": 9 })));
  expect(periods.record()).toEqual({ a: { "0": 5 } });
  isLate = false;
  expect(periods.record()).toEqual({ a: { "0": 12 }, b: { "0": 9 } });
  // A connection that ends and comes back has no period before.
  periods.update(mapOf());
  periods.update(mapOf(connection("a", { "0": 20 })));
  isLate = true;
  expect(periods.record()).toEqual({});
});
