import { expect, jest, onTestFinished, test } from "bun:test";
import { pino } from "pino";
import type { Connection, Destination } from "../../src/catalog/model.ts";
import type {
  DeliveryResult,
  DestinationKind,
  OutgoingEvent,
} from "../../src/destinations/destination.ts";
import { ApiError } from "../../src/errors.ts";
import { type Clock, systemClock } from "../../src/pipeline/clock.ts";
import { BatchPace } from "../../src/pipeline/lane/batch-pace.ts";
import { Lane } from "../../src/pipeline/lane/lane.ts";
import type { LaneChange, LaneCommitSource, Ledger } from "../../src/pipeline/ledger/ledger.ts";
import { FAULT_PAUSE_MS, LANE_IDLE_MS } from "../../src/pipeline/limits.ts";
import { LiveTail } from "../../src/pipeline/live-tail.ts";
import { MemoryBudget } from "../../src/pipeline/memory-budget.ts";
import type { LaneRecord } from "../../src/pipeline/model/lane-record.ts";
import { CodeLogs } from "../../src/pipeline/monitoring/code-logs.ts";
import { LatestOutcomes } from "../../src/pipeline/recent/latest-outcomes.ts";
import { FakeLive, FakeSandbox, feedOf, laneMetrics, MemoryLog, record } from "./doubles.ts";
import { numbersTo } from "./rig.ts";

type Deliver = (events: readonly OutgoingEvent[], signal: AbortSignal) => Promise<DeliveryResult>;
interface Options {
  /** State of the lane that the ledger has at the start. */
  stored?: LaneRecord;
  answer?: Deliver;
  live?: FakeLive;
}

/** One lane over a log in memory, with a ledger that commits at once and a clock that stands. */
function begin({ stored, answer, live = connected() }: Options = {}) {
  const log = new MemoryLog();
  const logs = feedOf(log);
  const time = { now: 10_000, elapsed: 500_000 };
  const clock: Clock = {
    ...{ now: () => time.now, elapsed: () => time.elapsed, age: (at) => time.now - at },
    random: () => 1,
    sleep: (ms, until) => (ms <= 20 ? Promise.resolve() : until.wait()),
  };
  const records = new Map<string, LaneRecord>(stored && [["one", stored]]);
  const changes: LaneChange[] = [];
  const state = {
    ledgerError: undefined as Error | undefined,
    opened: 0,
    closed: 0,
    mayClose: Promise.resolve(),
    isBusy: false,
  };
  const ledger = {
    isShared: false,
    jobs: { runningOf: () => [] },
    requeued: { oldest: () => [] },
    lane(id: string) {
      if (state.ledgerError !== undefined) throw state.ledgerError;
      return records.get(id);
    },
    schedule(source: LaneCommitSource) {
      const change = state.isBusy ? undefined : source.collect();
      if (change === undefined) return;
      changes.push(change);
      records.set(change.destinationId, change.record);
      queueMicrotask(() => source.committed(change));
    },
  } as unknown as Ledger;
  const delivered: number[] = [];
  const lines: { msg: string; [key: string]: unknown }[] = [];
  const kind = {
    ...{ kind: "known", batchSize: () => 10, concurrency: 1, secretKeys: [] },
    open() {
      state.opened += 1;
      return {
        async deliver(events: readonly OutgoingEvent[], signal: AbortSignal) {
          const result = (await answer?.(events, signal)) ?? { kind: "delivered" };
          if (result.kind !== "delivered") return result;
          for (const { bytes } of events) delivered.push(JSON.parse(String(bytes)).n);
          return result;
        },
        async close() {
          await state.mayClose;
          state.closed += 1;
        },
      };
    },
  } as unknown as DestinationKind;
  const memory = new MemoryBudget();
  const metrics = laneMetrics();
  const context = {
    ...{ live, logs, replayedLogs: logs, ledger, clock, metrics, memory },
    ...{ sandbox: new FakeSandbox(), retryWindowMs: 3_600_000, refresh() {} },
    ...{ liveTail: new LiveTail(logs, live), latestOutcomes: new LatestOutcomes(live, clock) },
    ...{ codeLogs: new CodeLogs(systemClock), pace: new BatchPace() },
    logger: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
  };
  const of = () => live.lane("one")!;
  const lane = new Lane(context, kind, of().destination, of().connections, false);
  return {
    ...{ lane, log, logs, live, time, records, changes, state, delivered, lines, memory, metrics },
    messages: () => lines.map(({ msg }) => msg),
    /** Appends numbered events that were received at 3 s, and wakes the lane for them. */
    async receive(...numbers: number[]) {
      log.append(...numbers.map((n) => record(n, "ann", { receivedAt: 3_000 })));
      lane.wake();
      await turns();
    },
    update(destination: Partial<Destination>, connections?: readonly Connection[]) {
      live.putDestination("one", destination);
      lane.update(live.destinations.get("one")!, connections ?? of().connections);
    },
  };
}

function connected(): FakeLive {
  const live = new FakeLive();
  live.addSource();
  live.putDestination("one");
  live.connect("one", {}, { id: "connection" });
  return live;
}

/** Lets lanes do what they can without a timer. */
async function turns(): Promise<void> {
  for (const _ of numbersTo(20)) await new Promise((resolve) => setImmediate(resolve));
}

test("a lane shows how many events wait and since when, until their outcome is stored", async () => {
  const held = Promise.withResolvers<DeliveryResult>();
  const { lane, receive, delivered, records } = begin({ answer: () => held.promise });
  expect([lane.gauges.lagEvents(), lane.gauges.lagSeconds()]).toEqual([0, 0]);
  await receive(0, 1);
  const { gauges } = lane;
  expect([gauges.lagEvents(), gauges.lagSeconds()]).toEqual([2, 7]);
  expect(gauges.labels).toEqual({ destination: "one", name: "To one", kind: "known" });
  expect([gauges.workspace, [...gauges.sourceIds()]]).toEqual(["workspace", ["source"]]);
  expect(gauges.isWaitingForSandbox()).toBe(false);
  expect(lane.durableLow("0")).toBe(0);
  held.resolve({ kind: "delivered" });
  await turns();
  expect(delivered).toEqual([0, 1]);
  lane.checkpoint();
  await turns();
  expect([gauges.lagEvents(), gauges.lagSeconds(), lane.durableLow("0")]).toEqual([0, 0, 2]);
  expect(records.get("one")?.logs["0"]).toEqual({ next: 2, pending: [] });
  await lane.stop();
});

test("a lane rests once it was idle for a while, and delivers again when it is woken", async () => {
  const { lane, receive, delivered, time, state, memory, records } = begin();
  await receive(0);
  lane.checkpoint();
  await turns();
  time.elapsed += LANE_IDLE_MS - 1;
  lane.rest();
  await turns();
  expect(state.closed).toBe(0);
  time.elapsed += 1;
  lane.rest();
  await turns();
  expect([state.closed, memory.bytes, lane.behind]).toEqual([1, 0, undefined]);
  expect([lane.durableLow("0"), lane.gauges.lagEvents()]).toEqual([1, 0]);
  lane.rest();
  lane.wake();
  await turns();
  expect(state.opened).toBe(1);
  await receive(1);
  expect([delivered, state.opened]).toEqual([[0, 1], 2]);
  await lane.stop();
  expect(records.get("one")?.logs["0"]).toEqual({ next: 2, pending: [] });
  expect(state.closed).toBe(2);
});

test("a lane stops only when each delivery that it closed at a rest is closed", async () => {
  const { lane, receive, time, state } = begin();
  const first = Promise.withResolvers<void>();
  for (const mayClose of [first.promise, Promise.resolve()]) {
    state.mayClose = mayClose;
    await receive(0);
    lane.checkpoint();
    await turns();
    time.elapsed += LANE_IDLE_MS;
    lane.rest();
    await turns();
  }
  let isStopped = false;
  const stop = lane.stop().then(() => {
    isStopped = true;
  });
  await turns();
  expect([state.closed, isStopped]).toEqual([1, false]);
  first.resolve();
  await stop;
  expect(state.closed).toBe(2);
});

test("a lane does not rest while an outcome is not stored", async () => {
  const { lane, receive, time, state, delivered } = begin();
  state.isBusy = true;
  await receive(0);
  time.elapsed += LANE_IDLE_MS;
  lane.checkpoint();
  lane.rest();
  await turns();
  expect([delivered, state.closed, lane.gauges.lagEvents()]).toEqual([[0], 0, 1]);
  state.isBusy = false;
  lane.checkpoint();
  await turns();
  lane.rest();
  await turns();
  expect([state.closed, lane.gauges.lagEvents()]).toEqual([1, 0]);
  await lane.stop();
});

test("a lane that is woken for later only notes its records, and delivers them at the next wake", async () => {
  const { lane, log, delivered, logs } = begin();
  log.append(record(0));
  lane.wake(true);
  logs.setAnnouncedEnd("0", 1);
  await turns();
  expect([delivered, lane.gauges.lagEvents()]).toEqual([[], 1]);
  lane.wake();
  await turns();
  expect(delivered).toEqual([0]);
  await lane.stop();
});

test("a resting lane stores its position, once, and has stored it when it stops", async () => {
  const { lane, log, logs, records, changes, state } = begin();
  log.append(...numbersTo(3).map((n) => record(n, "ann", { sourceId: "other" })));
  logs.setAnnouncedEnd("0", 3);
  expect(lane.durableLow("0")).toBe(0);
  lane.checkpoint();
  await turns();
  expect(records.get("one")).toEqual({
    logs: { "0": { next: 3, pending: [] } },
    known: { connection: {} },
  });
  expect(lane.durableLow("0")).toBe(3);
  lane.checkpoint();
  expect(changes).toHaveLength(1);
  log.append(record(3, "ann", { sourceId: "other" }));
  logs.setAnnouncedEnd("0", 4);
  await lane.stop();
  await turns();
  expect(records.get("one")?.logs["0"]?.next).toBe(4);
  expect(state.opened).toBe(0);
});

test("a new name is shown, and settings that stay the same change nothing", async () => {
  const { lane, receive, update, messages, state } = begin();
  await receive(0);
  const { labels } = lane.gauges;
  update({ name: "New" });
  expect(labels.name).toBe("New");
  expect(lane.destination.name).toBe("New");
  update({});
  expect(messages()).toEqual([]);
  update({ config: { url: "other" } });
  await receive(1);
  expect(state.opened).toBe(2);
  await lane.stop();
});

test("events of a removed connection are discarded, and the end of the connection is reported", async () => {
  const failed: DeliveryResult = { kind: "retry", reason: "Down" };
  const { lane, receive, update, lines, delivered, records, changes } = begin({
    answer: async () => failed,
  });
  await receive(0, 1);
  expect(lane.gauges.failure).toMatchObject({ reason: "Down", startedAt: 10_000 });
  update({}, []);
  await turns();
  lane.checkpoint();
  await turns();
  const told = lines.filter(({ msg }) => msg.startsWith("connection ended"));
  expect(told).toMatchObject([{ connectionId: "connection", destination: "one" }]);
  expect(delivered).toEqual([]);
  expect(records.get("one")?.logs["0"]).toMatchObject({ pending: [] });
  expect(changes.flatMap(({ deadLetters }) => deadLetters)).toEqual([]);
  expect([...lane.gauges.sourceIds()]).toEqual([]);
  await lane.stop();
});

test("a lane that is removed ends its attempts, stores nothing more, and tells what it discarded", async () => {
  let aborted = false;
  const { lane, receive, changes, records, metrics } = begin({
    answer: (_, signal) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          aborted = true;
          resolve({ kind: "retry", reason: "Ended" });
        });
      }),
  });
  await receive(0, 1, 2);
  const removed = spyRemoved(metrics);
  expect(await lane.remove()).toBe(3);
  expect([aborted, removed]).toEqual([true, ["one"]]);
  lane.checkpoint();
  await turns();
  expect([changes, records.size]).toEqual([[], 0]);
});

function spyRemoved(metrics: ReturnType<typeof laneMetrics>): string[] {
  const removed: string[] = [];
  metrics.removeLane = ({ destination }) => void removed.push(destination);
  return removed;
}

test("a resting lane is removed without having discarded events", async () => {
  const { lane, changes, state } = begin();
  expect(await lane.remove()).toBe(0);
  lane.checkpoint();
  expect([changes, state.opened]).toEqual([[], 0]);
});

test("a stop keeps events that wait for a retry for the next start, with the length of the outage", async () => {
  const failed: DeliveryResult = { kind: "retry", reason: "Down" };
  const { lane, receive, time, records, live } = begin({ answer: async () => failed });
  await receive(0);
  time.elapsed += 4_000;
  await lane.stop();
  const stored = records.get("one")!;
  expect(stored).toMatchObject({ logs: { "0": { next: 1, pending: [0] } }, outageMs: 4_000 });
  const next = begin({ stored, live });
  await next.receive(0);
  expect(next.delivered).toEqual([0]);
  await next.lane.stop();
  expect(next.records.get("one")).not.toHaveProperty("outageMs");
});

test("a lane that a broken invariant stops shows it, and stores nothing more", async () => {
  const { lane, receive, lines, changes, delivered, time } = begin();
  await receive(0);
  const before = changes.length;
  lane.fail(new Error("Broken"));
  time.now += 1;
  lane.fail(new Error("Later"));
  await turns();
  expect(lane.gauges.failure).toEqual({ since: 500_000, startedAt: 10_000, reason: "Broken" });
  expect(lines.filter(({ level }) => level === 50)).toMatchObject([
    { msg: "lane stopped", invariant: "Broken", destination: "one" },
  ]);
  lane.checkpoint();
  await receive(1);
  expect([delivered, changes.length, lane.collect()]).toEqual([[0], before, undefined]);
});

test.each([
  ["is logged", new Error("No such page"), ["lane cannot start"]],
  ["is left to the ledger to log", new ApiError("unavailable", "Opened again"), []],
] as const)("an error of a start %s, and the start is tried again", async (_, error, told) => {
  const { lane, log, logs, state, messages, delivered } = begin();
  jest.useFakeTimers();
  onTestFinished(() => void jest.useRealTimers());
  state.ledgerError = error;
  log.append(record(0));
  lane.wake();
  lane.wake();
  logs.setAnnouncedEnd("0", 1);
  expect([messages(), lane.gauges.lagEvents()]).toEqual([[...told], 1]);
  jest.advanceTimersByTime(FAULT_PAUSE_MS);
  expect(messages()).toHaveLength(2 * told.length);
  state.ledgerError = undefined;
  jest.advanceTimersByTime(FAULT_PAUSE_MS);
  jest.useRealTimers();
  await turns();
  expect(delivered).toEqual([0]);
  await lane.stop();
});

test("the last failure is shown while a lane rests, until its config changes", async () => {
  let answer: DeliveryResult = { kind: "rejected", reason: "No" };
  const { lane, receive, update, time, state } = begin({ answer: async () => answer });
  await receive(0);
  answer = { kind: "delivered" };
  await receive(1);
  lane.checkpoint();
  await turns();
  time.elapsed += LANE_IDLE_MS;
  lane.rest();
  await turns();
  expect(state.closed).toBe(1);
  expect(lane.gauges.lastFailure).toMatchObject({ reason: "No", at: 10_000 });
  update({ name: "Renamed" });
  expect(lane.gauges.lastFailure?.reason).toBe("No");
  update({ config: { url: "other" } });
  expect(lane.gauges.lastFailure).toBeUndefined();
  await lane.stop();
});

test("a lane waits for a sandbox until one runs its code, or until the code is removed", async () => {
  const live = connected();
  live.publish("one", "missing", "v1");
  const { lane, receive, update, delivered } = begin({ live });
  await receive(0);
  expect(lane.gauges.isWaitingForSandbox()).toBe(true);
  live.programs.clear();
  update({ name: "New" });
  await turns();
  expect([lane.gauges.isWaitingForSandbox(), delivered]).toEqual([false, [0]]);
  await lane.stop();
});
