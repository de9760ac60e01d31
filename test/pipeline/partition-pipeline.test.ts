import { afterEach, beforeEach, expect, jest, spyOn, test } from "bun:test";
import { pino } from "pino";
import { TimeSlicer } from "../../src/concurrency/time-slicer.ts";
import { systemClock } from "../../src/pipeline/clock.ts";
import { LaneRegistry } from "../../src/pipeline/lane-registry.ts";
import type { Ledger } from "../../src/pipeline/ledger/ledger.ts";
import {
  openPartition,
  type PartitionPipelineParts,
  TOPOLOGY_POLL_MS,
} from "../../src/pipeline/partition-pipeline.ts";
import { HeldRecords } from "../../src/pipeline/reading/held-records.ts";
import { FakeLive, feedOf, laneMetrics, MemoryLog } from "./doubles.ts";

const TRIM_INTERVAL_MS = 10_000;

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** A partition without lanes, and what it has done. */
function open(over: Partial<PartitionPipelineParts> = {}) {
  const calls: string[] = [];
  const call = (text: string) => void calls.push(text);
  const log = new MemoryLog();
  const logs = feedOf(log);
  const live = new FakeLive();
  const ledger = {
    ...{ lane: () => undefined, lanes: () => [] },
    ...{
      destinations: () => new Set(),
      requeued: { destinations: () => new Set(), hasAtLeast: () => false },
    },
    jobs: {
      runningOf: () => [],
      running() {
        call("running jobs");
        return [];
      },
    },
    letters: {
      counts() {
        call("counts");
        return [];
      },
      hasLetters: () => false,
    },
  } as unknown as Ledger;
  const lines: string[] = [];
  const parts = {
    ...{ live, ledger, logs, replayedLogs: logs, kinds: new Map(), retryWindowMs: 1_000 },
    ...{ ledgers: () => [ledger], deadLetterBounds: { countMax: 1, ageMsMax: 0 } },
    ...{ laneSlices: new TimeSlicer(), clock: systemClock, metrics: laneMetrics() },
    readers: new Map([["0", log]]),
    held: new HeldRecords(),
    logger: pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) }),
    retention: {
      isDiskNearlyFull: false,
      async trimmable(below: ReadonlyMap<string, number>) {
        call("trimmable");
        return below;
      },
    },
    repetitions: {
      async checkpoint() {
        call("positions stored");
      },
      async neededFrom(name: string) {
        call(`needed from ${name}`);
        return 0;
      },
      wake: (range?: { log: string }) => call(`search ${range?.log ?? "all"}`),
      close: () => call("search closed"),
    },
    ...over,
  };
  const partition = openPartition(parts as unknown as PartitionPipelineParts);
  const spies = (["refresh", "continueCheckpoint", "restSome", "abort", "stop"] as const).map(
    (name) => spyOn(LaneRegistry.prototype, name),
  );
  const counts = () => spies.map((spy) => spy.mock.calls.length);
  return {
    ...{ partition, calls, lines, log, counts, parts },
    restore() {
      for (const spy of spies) spy.mockRestore();
    },
  };
}

async function turns(): Promise<void> {
  for (let n = 0; n < 20; n++) await Promise.resolve();
}

test("a partition looks after its lanes ten times a second, until it is closed", async () => {
  const { partition, counts, calls, restore } = open();
  jest.advanceTimersByTime(TOPOLOGY_POLL_MS - 1);
  expect(counts()).toEqual([0, 0, 0, 0, 0]);
  jest.advanceTimersByTime(1);
  expect(counts()).toEqual([1, 1, 1, 0, 0]);
  jest.advanceTimersByTime(2 * TOPOLOGY_POLL_MS);
  expect(counts()).toEqual([3, 3, 3, 0, 0]);
  await partition.close();
  jest.advanceTimersByTime(2 * TRIM_INTERVAL_MS);
  expect(counts()).toEqual([3, 3, 3, 0, 1]);
  expect(calls.filter((it) => it !== "running jobs")).toEqual(["search closed"]);
  restore();
});

test("a partition trims, drops dead letters, stores positions and ends old replays every ten seconds", async () => {
  const { partition, calls, restore } = open();
  calls.length = 0;
  jest.advanceTimersByTime(TRIM_INTERVAL_MS - 1);
  await turns();
  expect(calls).toEqual([]);
  jest.advanceTimersByTime(1);
  await turns();
  const round = ["counts", "needed from 0", "positions stored", "running jobs", "trimmable"];
  expect(calls.toSorted()).toEqual(round);
  jest.advanceTimersByTime(TRIM_INTERVAL_MS);
  await turns();
  expect(calls.toSorted()).toEqual([...round, ...round].toSorted());
  await partition.close();
  restore();
});

test("positions that cannot be stored are logged", async () => {
  const checkpoint = () => Promise.reject(new Error("Disk full"));
  const repetitions = { checkpoint, neededFrom: async () => 0, close() {} } as never;
  const { partition, lines, restore } = open({ repetitions });
  jest.advanceTimersByTime(TRIM_INTERVAL_MS);
  await turns();
  expect(lines).toEqual(["positions of the search for repeated events not stored"]);
  await partition.close();
  restore();
});

test("news of a log wakes the search and the lanes of the partition that reads it", async () => {
  const { partition, calls, counts, log, restore } = open();
  expect([...partition.logs()]).toEqual(["0"]);
  calls.length = 0;
  partition.wake({ log: "1", end: 1, sources: [] });
  expect([calls, counts()[0]]).toEqual([[], 0]);
  log.appendUnread([new Uint8Array(3)], ["source"]);
  partition.wake({ log: "0", end: 1, sources: ["source"] });
  expect([calls, counts()[0]]).toEqual([["search 0"], 1]);
  partition.wake();
  expect([calls, counts()[0]]).toEqual([["search 0", "search all"], 2]);
  await partition.close();
  restore();
});

test("a replay that begins is looked for in the ledger, also one of dead letters", async () => {
  const { partition, calls, restore } = open();
  const refreshed = spyOn(LaneRegistry.prototype, "refreshReplays");
  calls.length = 0;
  partition.refreshReplays(["a", "b"]);
  expect(refreshed.mock.calls).toEqual([[["a", "b"]]]);
  expect(calls).toEqual(["running jobs"]);
  refreshed.mockRestore();
  await partition.close();
  restore();
});

test("a partition without lanes has no figures, and shows no log as held", async () => {
  const { partition, parts, restore } = open();
  expect([[...partition.gauges()], partition.gaugesOf("d")]).toEqual([[], undefined]);
  parts.held.note("0", 3);
  expect([...partition.heldLogs()]).toEqual([]);
  await partition.close();
  restore();
});

test("a close aborts the deliveries that take longer than it may wait", async () => {
  const { partition, counts, restore } = open();
  const stopped = Promise.withResolvers<void>();
  const stop = spyOn(LaneRegistry.prototype, "stop").mockImplementation(() => stopped.promise);
  const closing = partition.close(500);
  await turns();
  jest.advanceTimersByTime(499);
  expect(counts()[3]).toBe(0);
  jest.advanceTimersByTime(1);
  expect(counts()[3]).toBe(1);
  stopped.resolve();
  await closing;
  stop.mockRestore();
  restore();
});

test("a close whose deliveries end in time aborts none", async () => {
  const { partition, counts, restore } = open();
  await partition.close(500);
  jest.advanceTimersByTime(1_000);
  expect(counts()[3]).toBe(0);
  restore();
});
