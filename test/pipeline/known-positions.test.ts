import { expect, test } from "bun:test";
import type { Ledger } from "../../src/pipeline/ledger/ledger.ts";
import type { LaneRecord } from "../../src/pipeline/model/lane-record.ts";
import type { ReplayJob } from "../../src/pipeline/model/replay-job.ts";
import { knownPositions } from "../../src/pipeline/reading/known-positions.ts";
import { FakeLive } from "./doubles.ts";

const lane = (next: number, known = {}): LaneRecord => ({
  logs: { "0": { next, pending: [] } },
  known,
});

test("the known position of a log is the furthest of cursors, connections, replays and marks", () => {
  const live = new FakeLive();
  const jobs: ReplayJob[] = [];
  const reads = { running: () => jobs } as Ledger["jobs"];
  const searched: Record<string, number> = {};
  const repetitions = { positions: () => searched } as Ledger["repetitions"];
  const known = (...lanes: LaneRecord[]) =>
    knownPositions(live, { lanes: () => lanes, jobs: reads, repetitions });
  expect(known()).toEqual({});
  expect(known(lane(7), lane(5))).toEqual({ "0": 7 });
  expect(known(lane(7, { c: { "0": 9, "1": 4 } }))).toEqual({ "0": 9, "1": 4 });
  live.addSource();
  live.putDestination("one", { config: {} });
  live.connect("one", { "0": 12 });
  expect(known(lane(7))).toEqual({ "0": 12 });
  jobs.push({ kind: "events", ends: { "1": 30 } } as unknown as ReplayJob);
  expect(known(lane(7))).toEqual({ "0": 12, "1": 30 });
  jobs.push({ kind: "dead-letters", ends: { "1": 99 } } as unknown as ReplayJob);
  searched["1"] = 31;
  expect(known(lane(7))).toEqual({ "0": 12, "1": 31 });
  const earlier = [{ from: { "2": 1 }, until: { "2": 40 } }];
  live.connect("one", { "0": 3 }, { sourceId: "other", until: { "0": 50 }, earlier });
  expect(known(lane(7))).toEqual({ "0": 50, "1": 31, "2": 40 });
});
