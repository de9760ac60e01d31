import { expect, test } from "bun:test";
import { type LaneGauges, mergeGauges } from "../../src/pipeline/monitoring/lane-gauges.ts";

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
