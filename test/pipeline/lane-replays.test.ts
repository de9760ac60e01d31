import { describe, expect, test } from "bun:test";
import type { Destination } from "../../src/catalog/model.ts";
import { Notifier } from "../../src/pipeline/clock.ts";
import type { Ledger } from "../../src/pipeline/ledger/ledger.ts";
import type { NewLetter } from "../../src/pipeline/model/dead-letter.ts";
import type { EventOutcome, LaneEvent } from "../../src/pipeline/model/lane-event.ts";
import type { DeliveryIntent } from "../../src/pipeline/model/lane-record.ts";
import { type EventJob, noCounts } from "../../src/pipeline/model/replay-job.ts";
import { LaneReplays } from "../../src/pipeline/replays/lane-replays.ts";
import { listeningLogger } from "../log/support.ts";
import { fail, feedOf, MemoryLog, record } from "./doubles.ts";
import { SimulatedClock } from "./lane-delivery-rig.ts";
import { numbersTo } from "./rig.ts";

const COUNT = 10;

const job = (over: Partial<EventJob> = {}): EventJob => ({
  ...{ id: "r", workspaceId: "w", kind: "events", state: "running", destinationId: "d" },
  ...{ sources: ["source"], from: 0, to: 1e9, rate: 1_000_000, createdAt: 0, counts: noCounts },
  ...{ starts: { "0": 0 }, ends: { "0": COUNT }, logs: { "0": { next: 0, pending: [] } } },
  ...over,
});

/** Replays of a log of ten events, whose time passes only when a test says so. */
function setUp(jobs: readonly EventJob[], inFlightMax = 100) {
  const clock = new SimulatedClock();
  const log = new MemoryLog();
  log.append(...numbersTo(COUNT).map((n) => record(n, "ann", { receivedAt: 1_000 + n })));
  const running = [...jobs];
  const counted: unknown[] = [];
  const state = { isEnabled: true, notified: 0, scheduled: 0 };
  const work = new Notifier();
  const { logger, lines } = listeningLogger();
  const watch = () => {
    work.once(() => {
      state.notified += 1;
      watch();
    });
  };
  watch();
  const replays = new LaneReplays({
    ...{ logs: feedOf(log), clock, logger, inFlightMax, work, fail },
    ledger: { jobs: { runningOf: () => running } as unknown as Ledger["jobs"] },
    metrics: { replayed: { inc: (labels) => void counted.push(labels), remove() {} } },
    destination: () => ({ id: "d", workspaceId: "w", enabled: state.isEnabled }) as Destination,
  });
  return {
    ...{ replays, clock, log, running, counted, state, lines },
    start(recovered?: DeliveryIntent) {
      replays.start(recovered, () => {
        state.scheduled += 1;
      });
    },
    pass: (ms = 10) => clock.runUntil(clock.elapsed() + ms),
    /** Settles events with this outcome of their only output. */
    settle(events: readonly LaneEvent[], kind: EventOutcome["kind"]) {
      for (const event of events) {
        if (kind === "delivered") event.isDelivered = true;
        if (kind === "discarded") event.isDiscarded = true;
        if (kind === "dead-letter") {
          event.deadLetters = [{ destinationId: "d", reason: "No", stage: "deliver" } as NewLetter];
        }
        const { origin } = event;
        if ("replayId" in origin) replays.settle(origin, event, { kind } as EventOutcome);
      }
    },
  };
}

const sequences = (events: readonly LaneEvent[]) =>
  events.map(({ origin }) => ("sequence" in origin ? origin.sequence : -1));

test("a replay gives the events of its range in order, and counts what becomes of each", async () => {
  const { replays, start, pass, settle, counted, clock } = setUp([job()]);
  expect([replays.isEmpty, replays.isDue, replays.take(9, 1e9)]).toEqual([true, false, []]);
  start();
  await pass();
  expect([replays.isEmpty, replays.isDue, replays.isRunning("r")]).toEqual([false, true, true]);
  const events = replays.take(4, 1e9);
  expect(events.map(({ origin }) => origin)).toEqual(
    numbersTo(4).map((sequence) => ({ replayId: "r", log: "0", sequence })),
  );
  expect(events.map(({ retryWindowStart }) => retryWindowStart)).toEqual(
    Array(4).fill(clock.now()),
  );
  settle(events.slice(0, 1), "delivered");
  settle(events.slice(1, 2), "dropped");
  settle(events.slice(2, 3), "dead-letter");
  const outcomes = ["delivered", "dropped", "failed"].map((outcome) => ({
    workspace: "w",
    outcome,
  }));
  expect(counted).toEqual(outcomes);
  const [progress, ...others] = replays.progress();
  expect(others).toEqual([]);
  expect(progress).toMatchObject({
    ...{ id: "r", workspaceId: "w", reachedAt: 1_003 },
    counts: { ...noCounts, delivered: 1, dropped: 1, failed: 1 },
    failures: [{ reason: "No", count: 1 }],
  });
  expect(progress).not.toHaveProperty("doneAt");
  expect(replays.progress()).toEqual([]);
});

test("a replay is done when each event of its range has an outcome that is stored", async () => {
  const { replays, start, pass, settle, state } = setUp([job()]);
  start();
  await pass();
  expect(state.scheduled).toBe(1);
  settle(replays.take(9, 1e9), "delivered");
  await pass();
  const last = replays.take(9, 1e9);
  expect(sequences(last)).toEqual([9]);
  expect(replays.progress()[0]).not.toHaveProperty("doneAt");
  settle(last, "delivered");
  const progress = replays.progress();
  const lows = replays.lows();
  expect(progress).toMatchObject([{ doneAt: 20, logs: { "0": { next: COUNT, pending: [] } } }]);
  expect([replays.durableLow("0"), replays.isEmpty]).toEqual([0, false]);
  replays.committed(progress, lows);
  expect([replays.durableLow("0"), replays.isEmpty]).toEqual([undefined, true]);
  expect(replays.isRunning("r")).toBe(false);
});

test("the log is kept from the first event on that a replay would read after a restart", async () => {
  const second = job({ id: "s", logs: { "0": { next: 6, pending: [4] } } });
  const { replays, start, pass, settle } = setUp([job(), second]);
  expect(replays.durableLow("0")).toBeUndefined();
  start();
  await pass();
  expect([replays.durableLow("0"), replays.durableLow("1")]).toEqual([0, undefined]);
  settle(replays.take(5, 1e9), "delivered");
  replays.committed(replays.progress(), replays.lows());
  expect(replays.durableLow("0")).toBe(4);
});

test("events wait while the destination is disabled, and those on their way come back", async () => {
  const { replays, start, pass, settle, state, counted } = setUp([job()]);
  start();
  await pass();
  const events = replays.take(3, 1e9);
  state.isEnabled = false;
  expect([replays.isDue, replays.take(9, 1e9)]).toEqual([false, []]);
  settle(events, "discarded");
  expect(counted).toEqual([]);
  state.isEnabled = true;
  await pass();
  expect(sequences(replays.take(9, 1e9)).slice(0, 4)).toEqual([0, 1, 2, 3]);
});

test("a job that has ended gives no more events, and goes once those on their way have an outcome", async () => {
  const { replays, start, pass, settle, running, counted } = setUp([job()]);
  start();
  await pass();
  const events = replays.take(2, 1e9);
  expect(replays.refreshJobs()).toBe(false);
  running.length = 0;
  expect(replays.refreshJobs()).toBe(true);
  expect([replays.isRunning("r"), replays.isDue, replays.isEmpty]).toEqual([false, false, false]);
  expect(replays.durableLow("0")).toBeUndefined();
  settle(events, "discarded");
  expect(counted).toHaveLength(2);
  expect(counted[0]).toEqual({ workspace: "w", outcome: "discarded" });
  replays.refreshJobs();
  expect(replays.isEmpty).toBe(true);
  // An event whose replay is forgotten is counted nevertheless.
  settle(events.slice(0, 1), "dropped");
  expect(counted).toHaveLength(3);
});

test("a job that was created meanwhile starts, and no job starts twice", async () => {
  const { replays, start, pass, running } = setUp([]);
  start();
  running.push(job());
  expect(replays.refreshJobs()).toBe(false);
  replays.refreshJobs();
  await pass();
  expect(sequences(replays.take(99, 1e9))).toEqual(numbersTo(COUNT));
  await pass();
  expect([replays.isDue, replays.isEmpty]).toEqual([false, false]);
});

test("no more events are on their way than allowed, and the lane gets a call when there is room again", async () => {
  const { replays, start, pass, settle, state } = setUp([job()], 4);
  start();
  await pass();
  const events = replays.take(9, 1e9);
  await pass();
  expect([events.length, replays.isDue]).toEqual([4, false]);
  const before = state.notified;
  settle(events.slice(0, 1), "delivered");
  expect([state.notified, replays.isDue]).toEqual([before + 1, true]);
  // It has had room since then.
  settle(events.slice(1, 2), "delivered");
  expect(state.notified).toBe(before + 1);
  expect(sequences(replays.take(9, 1e9))).toEqual([4, 5]);
});

test("a batch of replayed events is bounded by its bytes", async () => {
  const { replays, start, pass } = setUp([job()]);
  start();
  await pass();
  const [first] = replays.take(1, 1e9);
  expect(replays.take(9, 2 * first!.bytes)).toHaveLength(2);
  expect(replays.take(9, 1)).toHaveLength(1);
});

test("a replay keeps to its rate, of which a partition has the share of its logs", async () => {
  const { replays, start, pass, state } = setUp([job({ rate: 20, ends: { "0": COUNT, far: 5 } })]);
  start();
  await pass(0);
  expect([replays.isDue, replays.take(9, 1e9)]).toEqual([false, []]);
  const before = state.notified;
  await pass(99);
  expect(state.notified).toBe(before);
  await pass(1);
  expect(state.notified).toBe(before + 1);
  expect(sequences(replays.take(9, 1e9))).toEqual([0]);
  expect(replays.isDue).toBe(false);
  await pass(100);
  expect(sequences(replays.take(9, 1e9))).toEqual([1]);
});

describe("after a crash during a delivery", () => {
  const recovered = (replays: DeliveryIntent["replays"]): DeliveryIntent => ({
    ...{ name: "interrupted", ends: {} },
    ...(replays && { replays }),
  });

  test("the events of the delivery are taken first, and the others once it is recovered", async () => {
    const { replays, start, pass, settle } = setUp([job()]);
    start(recovered({ r: { "0": 3 } }));
    expect(sequences(await replays.takeRecovered(2, 1e9))).toEqual([0, 1]);
    const rest = await replays.takeRecovered(9, 1e9);
    expect(sequences(rest)).toEqual([2]);
    expect(await replays.takeRecovered(9, 1e9)).toEqual([]);
    await pass();
    expect([replays.isDue, replays.progress()[0]?.doneAt]).toEqual([false, undefined]);
    replays.endRecovery();
    replays.endRecovery();
    await pass();
    expect(await replays.takeRecovered(9, 1e9)).toEqual([]);
    expect(sequences(replays.take(99, 1e9))).toEqual(numbersTo(COUNT).slice(3));
    settle(rest, "delivered");
    expect(replays.progress()).toHaveLength(1);
  });

  test("a disabled destination takes none of the delivery's events", async () => {
    const { replays, start, state } = setUp([job()]);
    state.isEnabled = false;
    start(recovered({ r: { "0": 3 } }));
    expect(await replays.takeRecovered(2, 1e9)).toEqual([]);
    replays.endRecovery();
    expect(await replays.takeRecovered(2, 1e9)).toEqual([]);
  });

  test("a replay of which the delivery had no events recovers none", async () => {
    for (const others of [undefined, { s: { "0": 3 } }]) {
      const { replays, start, pass } = setUp([job()]);
      start(recovered(others));
      expect(await replays.takeRecovered(9, 1e9)).toEqual([]);
      expect(replays.isDue).toBe(false);
      replays.endRecovery();
      await pass();
      expect(sequences(replays.take(2, 1e9))).toEqual([0, 1]);
    }
  });

  test("a stop ends the wait for events", async () => {
    const { replays, start, log } = setUp([job()]);
    log.read = () => new Promise(() => {});
    start(recovered({ r: { "0": 3 } }));
    const taken = replays.takeRecovered(9, 1e9);
    replays.stop();
    expect(await taken).toEqual([]);
  });
});

test("a replay that cannot read the log says so, and reads it again after a second", async () => {
  const { replays, start, pass, log, lines, state } = setUp([job()]);
  const { read } = log;
  log.read = () => Promise.reject(new Error("EIO"));
  start();
  await pass(999);
  expect(lines).toMatchObject([
    { replayId: "r", destinationId: "d", err: { message: "EIO" }, level: 50 },
  ]);
  log.read = read;
  await pass(1);
  expect([lines.length, state.scheduled]).toEqual([1, 1]);
  await pass();
  expect(sequences(replays.take(1, 1e9))).toEqual([0]);
});

test("a replay that is stopped gives no events, and is not done", async () => {
  const { replays, start, pass, settle } = setUp([job()]);
  start();
  await pass();
  const events = replays.take(99, 1e9);
  replays.stop();
  expect([replays.isDue, replays.take(9, 1e9)]).toEqual([false, []]);
  settle(events, "delivered");
  expect(replays.progress()[0]).not.toHaveProperty("doneAt");
  expect(replays.isRunning("r")).toBe(true);
});
