import { expect, test } from "bun:test";
import type { Clock } from "../../src/pipeline/clock.ts";
import { DOWN_MS_MIN } from "../../src/pipeline/limits.ts";
import { type LaneGauges, mergeGauges } from "../../src/pipeline/monitoring/lane-gauges.ts";
import { laneStatus } from "../../src/pipeline/monitoring/lane-status.ts";
import { laneMetrics } from "./doubles.ts";

function lane(lag: number, more: Partial<LaneGauges> = {}): LaneGauges {
  return {
    ...{ labels: { destination: "d", name: "D", kind: "webhook" }, workspace: "w" },
    lagEvents: () => lag,
    lagSeconds: () => lag * 10,
    isWaitingForSandbox: () => false,
    sourceIds: () => ["s"],
    ...{ failure: undefined, refusal: undefined, lastFailure: undefined },
    ...more,
  };
}
const since = (at: number) => ({ since: at, startedAt: at, reason: `Since ${at}` });

test("a destination without lanes has no gauges, and one lane has its own", () => {
  const only = lane(1);
  expect(mergeGauges([])).toBeUndefined();
  expect(mergeGauges([only])).toBe(only);
});

test("the lag of several lanes is the sum of their events and the longest of their times", () => {
  const merged = mergeGauges([lane(2), lane(5), lane(3)])!;
  expect([merged.lagEvents(), merged.lagSeconds()]).toEqual([10, 50]);
  expect(merged.labels.destination).toBe("d");
});

test("a destination waits for a guest when one of its lanes does", () => {
  const waiting = lane(1, { isWaitingForSandbox: () => true });
  expect(mergeGauges([lane(1), waiting])!.isWaitingForSandbox()).toBe(true);
  expect(mergeGauges([lane(1), lane(1)])!.isWaitingForSandbox()).toBe(false);
});

test("the earliest failure and refusal are shown, and the latest failed attempt", () => {
  const lanes = [
    lane(1),
    lane(1, { failure: since(7), refusal: since(4), lastFailure: { at: 3, reason: "A" } }),
    lane(1, { failure: since(5), refusal: since(6), lastFailure: { at: 9, reason: "B" } }),
    lane(1, { failure: since(6), lastFailure: { at: 8, reason: "C" } }),
  ];
  expect(mergeGauges(lanes)).toMatchObject({
    failure: since(5),
    refusal: since(4),
    lastFailure: { at: 9, reason: "B" },
  });
  const none = { failure: undefined, refusal: undefined, lastFailure: undefined };
  expect(mergeGauges([lane(1), lane(1)])).toMatchObject(none);
});

test("a status has the failure before the refusal, and the receiver is down after a while", () => {
  const statusOf = (more: Partial<LaneGauges>, elapsed = 0) => {
    const clock = { now: () => 0, elapsed: () => elapsed } as Clock;
    return laneStatus(lane(2, more), { clock, metrics: laneMetrics() });
  };
  const told = (at: number, isDown: boolean) => ({ since: at, reason: `Since ${at}`, isDown });
  expect(statusOf({})).toEqual({
    ...{ lagEvents: 2, lagSeconds: 20, isWaiting: false, isRejecting: false, rates: [] },
  });
  const both = { failure: since(5), refusal: since(4) };
  expect(statusOf(both, 4 + DOWN_MS_MIN).failure).toEqual(told(5, false));
  expect(statusOf(both, 5 + DOWN_MS_MIN).failure).toEqual(told(5, true));
  const refused = { refusal: since(4), lastFailure: { at: 3, reason: "A" } };
  expect(statusOf(refused, 4 + DOWN_MS_MIN)).toMatchObject({
    failure: told(4, false),
    lastFailure: { at: 3, reason: "A" },
  });
});
