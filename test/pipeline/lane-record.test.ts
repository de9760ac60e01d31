import { describe, expect, test } from "bun:test";
import { isFailing, isStored, type LaneRecord } from "../../src/pipeline/model/lane-record.ts";

const record = (more: Partial<LaneRecord> = {}): LaneRecord => ({
  logs: { "0": { next: 7, pending: [3, 5] } },
  known: { connection: { "0": 2 } },
  ...more,
});
const sealed = (name: string) => ({ name, ends: { "0": 7 } });

describe("the stored record of a lane", () => {
  const same: [string, Partial<LaneRecord>, Partial<LaneRecord> | undefined][] = [
    ["has its positions", {}, {}],
    ["has an outage that has just begun", { outageMs: 0 }, { outageMs: 0 }],
    ["is missing before it has any", { logs: {}, known: {} }, undefined],
    ["has the same delivery", { sealed: sealed("a") }, { sealed: sealed("a") }],
    ["has a refusal of any length", { refusedMs: 9_000 }, { refusedMs: 1 }],
    ["has no outage of less than a step", { outageMs: 99 }, {}],
    ["has an outage that is less than a step shorter", { outageMs: 299 }, { outageMs: 200 }],
  ];
  test.each(same)("is up to date if it %s", (_, now, stored) => {
    expect(isStored(stored && record(stored), record(now), 100)).toBe(true);
  });

  const other: [string, Partial<LaneRecord>, Partial<LaneRecord> | undefined][] = [
    ["is missing", {}, undefined],
    ["has another position", { logs: { "0": { next: 8, pending: [3, 5] } } }, {}],
    ["has an event that has settled", { logs: { "0": { next: 7, pending: [5] } } }, {}],
    ["has an earlier live period", { known: { connection: { "0": 3 } } }, {}],
    ["has another delivery", { sealed: sealed("a") }, { sealed: sealed("b") }],
    ["has a delivery that has ended", {}, { sealed: sealed("a") }],
    ["has no refusal", { refusedMs: 0 }, {}],
    ["has a refusal that has ended", {}, { refusedMs: 0 }],
    ["has no outage of a step", { outageMs: 100 }, {}],
    ["has an outage that is a step shorter", { outageMs: 300 }, { outageMs: 200 }],
    ["has the outage before this one", { outageMs: 0 }, { outageMs: 200 }],
    ["has an outage that has ended", {}, { outageMs: 0 }],
  ];
  test.each(other)("is written again if it %s", (_, now, stored) => {
    expect(isStored(stored && record(stored), record(now), 100)).toBe(false);
  });

  test("has the length of an outage to the millisecond if no step is given", () => {
    const isUpToDate = (outageMs: number) =>
      isStored(record({ outageMs: 200 }), record({ outageMs }));
    expect([200, 200.5, 201].map(isUpToDate)).toEqual([true, true, false]);
  });

  test("tells whether the lane failed when it stopped, however shortly", () => {
    const records = [undefined, record(), record({ outageMs: 0 }), record({ refusedMs: 0 })];
    expect(records.map(isFailing)).toEqual([false, false, true, true]);
  });
});
