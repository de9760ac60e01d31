import { afterEach, beforeEach, describe, expect, jest, test } from "bun:test";
import { commitDelayMs, LaneCommitter } from "../../src/pipeline/lane/lane-committer.ts";
import type { LaneChange } from "../../src/pipeline/ledger/ledger.ts";
import {
  createOutput,
  type EventOutcome,
  type LaneEvent,
  type Origin,
} from "../../src/pipeline/model/lane-event.ts";
import { laneEvent } from "./doubles.ts";
import { numbersTo } from "./rig.ts";

test("lanes commit to shared ledgers at common times, and to a ledger of one server soon", () => {
  const now = 1_900_000_000_000;
  for (const after of [0, 1, 137, 499]) {
    expect(now + after + commitDelayMs(true, now + after)).toBe(now + 500);
    expect(commitDelayMs(false, now + after)).toBe(50);
  }
  expect(commitDelayMs(true, now + 500)).toBe(500);
});

const letter = { kind: "dead-letter", stage: "deliver", reason: "no" } as const;
const outcomes: EventOutcome[] = [
  { kind: "delivered" },
  { kind: "dropped" },
  { kind: "discarded" },
  letter as EventOutcome,
];

/** All sequences of outcomes of an event with one, two or three outputs. */
const sequences = [1, 2, 3].flatMap((length) => {
  return numbersTo(outcomes.length ** length).map((number) => {
    return numbersTo(length).map((at) => {
      return outcomes[Math.floor(number / outcomes.length ** at) % outcomes.length]!;
    });
  });
});

/** A committer whose other parts record each call. */
function setUp(retryWindowMs = 800) {
  const told = {
    scheduled: 0,
    /** Events of replays with the outcome of their last output. */
    replayed: [] as unknown[],
    /** Events of the log that are settled. */
    read: [] as unknown[],
    settledCount: 0,
    committed: [] as LaneEvent[],
    notified: 0,
    /** Parts that received an outcome, with the number of outputs. */
    noted: [] as unknown[],
  };
  const state = {
    outageMs: 0,
    isRunning: true,
    isFull: false,
    stored: undefined as unknown,
    known: {},
  };
  const committer = new LaneCommitter(
    {
      ledger: { lane: () => state.stored, schedule: () => told.scheduled++, isShared: false },
      metrics: {
        events: { inc: (_: unknown, count: number) => told.noted.push(["metrics", count]) },
        histories: {
          get: () => ({
            recordOutcome: (...of: unknown[]) => told.noted.push(["history", of[0], of[3]]),
          }),
        },
      },
      liveTail: { publishOutcomes: (of: unknown[]) => told.noted.push(["tail", of.length]) },
      latestOutcomes: { add: (of: unknown[]) => told.noted.push(["latest", of.length]) },
      clock: { now: () => 0 },
      labels: { destination: "d", name: "D", kind: "webhook" },
      health: { recordOutcome: (count: number) => told.noted.push(["health", count]) },
      reader: {
        settle: (log: string, sequence: number) => told.read.push([log, sequence]),
        record: () => ({ logs: {}, known: state.known }),
        lows: () => new Map(),
        committed() {},
      },
      replays: {
        settle: (_: unknown, event: LaneEvent, { kind }: EventOutcome) => {
          told.replayed.push([event.isDelivered, event.isDiscarded, kind]);
        },
        progress: () => [],
        lows: () => new Map(),
        committed() {},
      },
      memory: {
        get isFull() {
          return state.isFull;
        },
        settle: (count: number) => {
          told.settledCount += count;
        },
        commit: (events: LaneEvent[]) => void told.committed.push(...events),
      },
      retryWindowMs,
      isRunning: () => state.isRunning,
      failureRecord: () => (state.outageMs > 0 ? { outageMs: state.outageMs } : {}),
      destination: () => ({ id: "d", workspaceId: "w" }),
      work: { notify: () => told.notified++ },
      fail(error: unknown) {
        throw error;
      },
    } as never,
    undefined,
  );
  /** Settles the outputs of an event one after the other, as deliveries do. */
  const settle = (origin: Origin, sequence: readonly EventOutcome[]) => {
    const event = laneEvent({ origin, openOutputs: sequence.length });
    for (const outcome of sequence)
      committer.settle([createOutput(event, Buffer.from("{}"))], outcome);
    return event;
  };
  return { committer, settle, state, told };
}

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

describe("an event", () => {
  test("settles with its last output, as failed, delivered, discarded or dropped, in this order", () => {
    const requeued = { id: "l", workspaceId: "w" } as never;
    for (const sequence of sequences) {
      const { committer, settle, told } = setUp();
      settle({ requeued, jobId: "j" }, sequence);
      const { settledRequeued, deadLetters } = committer.collect()!;
      const kinds = sequence.map(({ kind }) => kind);
      const letters = kinds.filter((kind) => kind === "dead-letter").length;
      const better = ["delivered", "discarded"].find((kind) => kinds.includes(kind as "delivered"));
      const outcome = letters > 0 ? "failed" : (better ?? "dropped");
      expect([kinds, settledRequeued]).toEqual([
        kinds,
        [
          expect.objectContaining({
            id: "l",
            workspaceId: "w",
            jobId: "j",
            outcome: outcome as never,
          }),
        ],
      ]);
      expect([deadLetters.length, told.settledCount]).toEqual([letters, 1]);
    }
  });

  test("of a replay is reported with its last output, and one of the log passes its record", () => {
    for (const sequence of sequences) {
      const { committer, settle, told } = setUp();
      settle({ log: "0", sequence: 7, replayId: "r" }, sequence);
      settle({ log: "1", sequence: 8, connectionId: "c" }, sequence);
      const kinds = sequence.map(({ kind }) => kind);
      const flags = [kinds.includes("delivered"), kinds.includes("discarded")];
      expect(told.replayed).toEqual([[...flags, kinds.at(-1)]]);
      committer.collect();
      expect([told.read, told.settledCount]).toEqual([[["1", 8]], 2]);
    }
  });

  test("with an open output is in no change yet", () => {
    const { committer, told } = setUp();
    const event = laneEvent({ openOutputs: 2 });
    const output = createOutput(event, Buffer.from("{}"));
    committer.settle([output], { kind: "delivered" });
    expect([committer.collect(), told.settledCount]).toEqual([undefined, 0]);
    committer.settle([output], { kind: "delivered" });
    expect(() => committer.settle([output], { kind: "delivered" })).toThrow("settles once");
    const change = committer.collect() as LaneChange;
    committer.committed(change);
    expect(told.committed).toEqual([event]);
    expect(() => committer.committed(change)).toThrow("each once");
  });
});

describe("outcomes", () => {
  const origin = { log: "0", sequence: 0, connectionId: "c" };

  test("are counted, shown and kept; those of events that are not sent are only counted", () => {
    const { committer, told } = setUp();
    const outputs = numbersTo(2).map(() =>
      createOutput(laneEvent({ openOutputs: 1 }), Buffer.from("{}")),
    );
    committer.settle([], { kind: "delivered" });
    expect(told.noted).toEqual([]);
    committer.settle(outputs, { kind: "delivered" });
    const counted = [
      ["metrics", 2],
      ["health", 2],
    ];
    const shown = [
      ["history", "source", 2],
      ["tail", 2],
      ["latest", 2],
    ];
    expect(told.noted).toEqual([...counted, ...shown]);
    told.noted.length = 0;
    for (const { laneEvent } of outputs) laneEvent.openOutputs = 1;
    committer.settle(outputs, { kind: "discarded" });
    expect(told.noted).toEqual(counted);
  });

  test("are committed soon, and at once where memory is full", () => {
    const { committer, settle, state, told } = setUp();
    settle(origin, [{ kind: "delivered" }]);
    settle(origin, [{ kind: "delivered" }]);
    jest.advanceTimersByTime(49);
    expect([told.scheduled, committer.isIdle]).toEqual([0, false]);
    jest.advanceTimersByTime(1);
    expect([told.scheduled, committer.isIdle]).toEqual([1, true]);
    expect(told.notified).toBe(0);
    state.isFull = true;
    settle(origin, [{ kind: "delivered" }]);
    expect([told.scheduled, told.notified]).toEqual([2, 1]);
    jest.advanceTimersByTime(50);
    expect(told.scheduled).toBe(2);
  });

  test("of a lane that gives its work away are stored no more", () => {
    const { committer, settle, told } = setUp();
    settle(origin, [{ kind: "delivered" }]);
    committer.discard();
    jest.advanceTimersByTime(50);
    committer.schedule();
    expect([told.scheduled, committer.collect()]).toEqual([0, undefined]);
  });

  test("are written with a live period that the lane has read meanwhile", () => {
    const { committer, state } = setUp();
    state.stored = { logs: {}, known: { c: { 0: 1 } } };
    state.known = { c: { 0: 1 }, d: { 0: 2 } };
    expect(committer.collect()?.record.known).toEqual(state.known);
    state.stored = { logs: {}, known: state.known };
    expect(committer.collect()).toBeUndefined();
  });

  test("that the ledger has are not written again", () => {
    const { committer, settle, state } = setUp();
    state.stored = { logs: {} };
    expect(committer.collect()).toBeUndefined();
    settle(origin, [{ kind: "delivered" }]);
    expect(committer.collect()).toBeDefined();
  });
});

test("an outage is written when it has grown by an eighth of the retry window, and when it ends", () => {
  const { committer, state, told } = setUp();
  state.stored = { logs: {} };
  state.outageMs = 99;
  committer.noteOutage();
  expect([told.scheduled, committer.collect()]).toEqual([0, undefined]);
  state.outageMs = 100;
  committer.noteOutage();
  expect([told.scheduled, committer.collect()?.record.outageMs]).toEqual([1, 100]);
  state.stored = { logs: {}, outageMs: 100 };
  state.outageMs = 101;
  committer.noteOutage();
  expect([told.scheduled, committer.collect()]).toEqual([1, undefined]);
  state.isRunning = false;
  expect(committer.collect()?.record.outageMs).toBe(101);
  state.stored = { logs: {}, outageMs: 50 };
  state.outageMs = 0;
  state.isRunning = true;
  expect(committer.collect()).toBeDefined();
});

test("an outage is written after ten seconds, and each time it has doubled", () => {
  const { committer, state, told } = setUp(86_400_000);
  state.stored = { logs: {} };
  const written: number[] = [];
  for (state.outageMs = 1_000; state.outageMs <= 100_000; state.outageMs += 1_000) {
    committer.noteOutage();
    if (told.scheduled === written.length) continue;
    const change = committer.collect()!;
    committer.committed(change);
    state.stored = change.record;
    written.push(state.outageMs);
  }
  expect(written).toEqual([10_000, 20_000, 40_000, 80_000]);
});

test("a batched delivery begins once its intent is written, and its end removes the intent", async () => {
  const { committer, told } = setUp();
  const intent = { name: "b" } as never;
  let isWritten = false;
  const written = committer.writeIntent(intent).then(() => {
    isWritten = true;
  });
  expect([told.scheduled, committer.hasWrittenIntent("b"), committer.isIdle]).toEqual([
    1,
    false,
    false,
  ]);
  expect(() => committer.writeIntent(intent)).toThrow("one batched delivery");
  const change = committer.collect()!;
  expect(change.record.sealed).toBe(intent);
  await Promise.resolve();
  expect(isWritten).toBe(false);
  committer.committed(change);
  await written;
  expect([committer.hasWrittenIntent("b"), committer.hasWrittenIntent("a")]).toEqual([true, false]);
  committer.clearIntent();
  expect([committer.hasWrittenIntent("b"), told.scheduled]).toEqual([false, 1]);
  jest.advanceTimersByTime(50);
  expect([told.scheduled, committer.isIdle]).toEqual([2, true]);
});
