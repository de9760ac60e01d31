import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { CounterRing } from "../../src/figures/counter-ring.ts";
import { DELIVERED, latencies, latencyQuantile, rowOf } from "../../src/figures/row.ts";
import { LaneHistories } from "../../src/pipeline/monitoring/lane-history.ts";
import { LANE_HISTORIES_MAX, LANE_HISTORY_CONNECTIONS_MAX } from "../../src/settings/limits.ts";

const MINUTE = 60_000;
const start = 1_000 * 60 * MINUTE;

describe("counts by time", () => {
  test("a counter ring counts the last intervals, whatever the clock does", () => {
    const adds = fc.array(fc.record({ pass: fc.integer({ min: -50, max: 300 }), by: fc.nat(5) }));
    fc.assert(
      fc.property(adds, (steps) => {
        const slots = new CounterRing(10, 20, 1);
        let now = 10_000;
        let newest = 0;
        let model = new Map<number, number>();
        for (const { pass, by } of steps) {
          now += pass;
          const number = Math.floor(now / 20);
          if (number <= newest - 10) model = new Map();
          if (number > newest || number <= newest - 10) newest = number;
          slots.add(now, 0, by);
          model.set(newest, (model.get(newest) ?? 0) + by);
        }
        const expected = Array.from({ length: 10 }, (_, at) => model.get(newest - 9 + at) ?? 0);
        // Seen at the newest time that was seen.
        const rows = [...slots.rows(newest * 20)];
        if (steps.length === 0) return;
        expect(rows.map(({ counts }) => counts[0] ?? 0)).toEqual(expected);
        expect(rows.at(-1)!.at).toBe(newest * 20);
      }),
    );
  });
});

describe("lane history", () => {
  test("a lane's history has the latest minutes, with the times of attempts", () => {
    const history = new LaneHistories().get("d");
    expect(history.minute(start)).toBeUndefined();
    for (let n = 0; n < 100; n += 1) {
      history.recordAttempt(n === 0, n === 99 ? 900 : 10, start);
      history.recordOutcome("s", "delivered", start);
    }
    history.recordReceived("s", start, 103);
    const next = start + MINUTE;
    history.recordOutcome("s", "dropped", next + 1);
    history.recordOutcome("other", "dead-letter", next + 2);
    const first = history.minute(start)!;
    const row = rowOf(first.counters);
    expect(row.slice(0, 5)).toEqual([0, 100, 0, 0, 1]);
    expect(first.sources.map(([id, counters]) => [id, rowOf(counters)])).toEqual([
      ["s", [103, 100]],
    ]);
    expect(latencies(row)).toBe(100);
    // A bucket ends at most half as far again as it begins.
    expect([latencyQuantile(row, 0.5), latencyQuantile(row, 0.99)]).toEqual([11, 11]);
    expect(latencyQuantile(row, 1)!).toBeGreaterThanOrEqual(900);
    expect(latencyQuantile(row, 1)!).toBeLessThanOrEqual(1_350);
    const second = history.minute(next)!;
    expect(rowOf(second.counters)).toEqual([0, 0, 1, 1]);
    expect(latencyQuantile(rowOf(second.counters), 0.5)).toBeUndefined();
    expect(second.sources).toHaveLength(2);
    history.recordOutcome("s", "dropped", start + 30 * MINUTE);
    expect(history.minute(start)).toBeUndefined();
  });

  test("a lane's history has a minute in which it has only read events", () => {
    const history = new LaneHistories().get("d");
    history.recordReceived("s", start, 3);
    const { counters, sources } = history.minute(start)!;
    expect(rowOf(counters)).toEqual([]);
    expect(sources.map(([id, counted]) => [id, rowOf(counted)])).toEqual([["s", [3]]]);
  });

  test("a lane's history has the rates of each connection over the last minute", () => {
    const history = new LaneHistories().get("d");
    for (let second = 0; second < 60; second += 1) {
      for (let n = 0; n < 5; n += 1) history.recordReceived("a", start + second * 1_000);
      history.recordOutcome("b", "delivered", start + second * 1_000);
    }
    const [a, b] = history.rates(start + 60_000);
    expect(a).toMatchObject({ sourceId: "a", delivered: 0, dropped: 0, failed: 0 });
    expect(a!.received).toBeCloseTo(5, 5);
    expect(b!.delivered).toBeCloseTo(1, 5);
    expect(history.rates(start + 10 * MINUTE)[0]!.received).toBe(0);
  });
});

test("a destination rejects events until enough were delivered since its last failure", () => {
  const history = new LaneHistories().get("d");
  const record = (kind: "delivered" | "dead-letter", count: number, at = start) =>
    history.recordOutcome("s", kind, at, count);
  record("delivered", 5);
  expect(history.isRejecting(start)).toBe(false);
  // All fail: three deliveries show that it is cured.
  record("dead-letter", 1_000);
  record("delivered", 2);
  expect(history.isRejecting(start)).toBe(true);
  record("delivered", 2);
  expect(history.isRejecting(start)).toBe(false);
  // One in a hundred fails: it takes 300 deliveries.
  const later = start + 10 * MINUTE;
  for (let n = 0; n < 10; n += 1) {
    record("delivered", 99, later);
    record("dead-letter", 1, later);
  }
  record("delivered", 250, later);
  expect(history.isRejecting(later)).toBe(true);
  record("delivered", 250, later);
  expect(history.isRejecting(later)).toBe(false);
  record("dead-letter", 1, later);
  expect(history.isRejecting(later + 10 * MINUTE)).toBe(false);
});

test("the histories of many lanes are bounded, and idle ones make room", () => {
  const histories = new LaneHistories();
  for (let n = 0; n <= LANE_HISTORIES_MAX; n += 1) histories.get(`${n}`).recordReceived("s", start);
  const late = `${LANE_HISTORIES_MAX}`;
  expect(histories.get(late).rates(start)).toEqual([]);
  const later = start + 2 * 60 * MINUTE;
  histories.get("0").recordReceived("s", later - MINUTE);
  histories.get(late).recordReceived("s", later);
  expect(histories.get(late).rates(later)).toHaveLength(1);
  expect(histories.get("0").rates(later)).toHaveLength(1);
  expect(histories.get("1").rates(later)).toEqual([]);
});

test("an evicted history records again only while there is room", () => {
  const histories = new LaneHistories();
  const all = Array.from({ length: LANE_HISTORIES_MAX }, (_, n) => histories.get(`${n}`));
  for (const history of all) history.recordReceived("s", start);
  const later = start + 61 * MINUTE;
  histories.get("new").recordReceived("s", later);
  for (const history of all) history.recordReceived("s", later);
  expect(all.filter(({ connections }) => connections > 0).length).toBe(LANE_HISTORIES_MAX - 1);
});

test("the connections of all histories are bounded, and those of a removed lane make room", () => {
  const histories = new LaneHistories();
  for (let n = 0; n < LANE_HISTORY_CONNECTIONS_MAX; n += 1)
    histories.get("a").recordReceived(`${n}`, start);
  const b = histories.get("b");
  b.recordReceived("s", start);
  b.recordOutcome("s", "delivered", start);
  expect(b.rates(start)).toEqual([]);
  expect(rowOf(b.minute(start)!.counters)[DELIVERED]).toBe(1);
  histories.forget("a");
  b.recordReceived("s", start);
  expect(b.rates(start)).toHaveLength(1);
});

test("idle connections of a busy destination make room for those of others", () => {
  const histories = new LaneHistories();
  const busy = histories.get("busy");
  for (let n = 0; n < LANE_HISTORY_CONNECTIONS_MAX; n += 1) busy.recordReceived(`${n}`, start);
  const later = start + 6 * MINUTE;
  busy.recordReceived("0", later);
  histories.get("other").recordReceived("s", later);
  expect(histories.get("other").rates(later)).toHaveLength(1);
  expect(busy.rates(later).map(({ sourceId }) => sourceId)).toEqual(["0"]);
  for (let n = 0; n < LANE_HISTORY_CONNECTIONS_MAX; n += 1) busy.recordReceived(`${n}`, later);
  expect(busy.connections).toBe(LANE_HISTORY_CONNECTIONS_MAX - 1);
  // The clock was set back.
  histories.get("other").recordReceived("newer", start);
  expect(histories.get("other").rates(start)[0]!.sourceId).toBe("newer");
});
