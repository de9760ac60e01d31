import { describe, expect, test } from "bun:test";
import { Notifier } from "../../src/pipeline/clock.ts";
import type { LogInput } from "../../src/pipeline/model/input-event.ts";
import type { EventFilter, EventJob } from "../../src/pipeline/model/replay-job.ts";
import type { LogSet } from "../../src/pipeline/reading/shared-reader.ts";
import type { Occurrence } from "../../src/pipeline/repetitions/recent-ids.ts";
import { createRangeLogSet } from "../../src/pipeline/replays/range-log-set.ts";
import { numbersTo } from "./rig.ts";

/** The event `n`, which was received at the time 1000 + `n`. */
function input(n: number, over: object = {}): LogInput {
  return {
    ...{ sequence: n, sourceId: "s", receivedAt: 1_000 + n, type: "track", messageId: `M${n}` },
    event: {
      json: Buffer.from(JSON.stringify({ n, plan: "pro" })),
      ...{ name: "Order", user: "u", userId: "u", anonymousId: "a" },
    },
    ...over,
  } as LogInput;
}

/** A replay of the logs "a", of ten records, and "b", of three. */
function setUp(over: Partial<EventJob> = {}, bounds?: Record<string, number>) {
  const state = { first: 0, end: 10, ms: 0, readMs: 0, inputs: numbersTo(10).map((n) => input(n)) };
  const reads: unknown[] = [];
  const sleeps: number[] = [];
  const previous = new Map<number, Occurrence>();
  const logs = {
    names: () => ["a", "b", "new"],
    first: () => state.first,
    end: (log: string) => (log === "a" ? state.end : 3),
    countBetween: (_: string, from: number, to: number) => to - from,
    sizeOf: (_: string, it: LogInput) =>
      it.messageId === "bad" ? undefined : it.event.json.length,
    previousOf: (_: string, sequence: number) => previous.get(sequence),
    async read(log: string, from: number) {
      reads.push([log, from]);
      state.ms += state.readMs;
      const sources = new Set(state.inputs.map(({ sourceId }) => sourceId));
      return { from, next: 10, inputs: state.inputs, sources, newerAt: undefined };
    },
  } as unknown as LogSet;
  const job = {
    ...{ id: "r", workspaceId: "w", kind: "events", destinationId: "d", sources: ["s"] },
    ...{ from: 1_000, to: 2_000, starts: {}, ends: { a: 10, b: 3, gone: 5 }, logs: {} },
    ...over,
  } as unknown as EventJob;
  const clock = {
    elapsed: () => state.ms,
    sleep: async (ms: number) => void sleeps.push(ms),
  };
  const parts = { job, logs, clock: clock as never, stopping: new Notifier() };
  const set = createRangeLogSet(parts, bounds);
  const read = async (log = "a", sequence = 0) => {
    const chunk = await set.read(log, sequence);
    return chunk?.inputs.map(({ sequence }) => sequence);
  };
  return { set, state, logs, reads, sleeps, previous, read };
}

describe("the logs of a replay", () => {
  test("are those of its range that this partition has", () => {
    const { set } = setUp();
    expect(set.names()).toEqual(["a", "b"]);
    expect([set.first("a"), set.countBetween("a", 2, 5)]).toEqual([0, 3]);
    expect([set.announcedEnd(), set.heldSince()]).toEqual([0, undefined]);
    set.setAnnouncedEnd();
    expect(set.sizeOf("a", input(0))).toBe(input(0).event.json.length);
  });

  test("end with its range, or where this node has read them up to", () => {
    const { set, state } = setUp({ ends: { a: 8, b: 3 } });
    expect([set.end("a"), set.end("b"), set.end("new"), set.isWhole]).toEqual([8, 3, 0, true]);
    state.end = 8;
    expect([set.end("a"), set.isWhole]).toEqual([8, true]);
    state.end = 7;
    expect([set.end("a"), set.isWhole]).toEqual([7, false]);
  });

  test("end with an interrupted delivery until its recovery ends", () => {
    const { set } = setUp({}, { a: 4 });
    expect([set.end("a"), set.end("b")]).toEqual([4, 0]);
    set.endRecovery();
    expect([set.end("a"), set.end("b")]).toEqual([10, 3]);
  });
});

describe("a replay reads", () => {
  test("the events of its sources and its time, up to its end", async () => {
    const { read, set, state, reads } = setUp({ from: 1_002, to: 1_007, ends: { a: 6 } });
    state.inputs[3] = input(3, { sourceId: "other" });
    expect(await read()).toEqual([2, 4, 5]);
    expect(await set.read("a", 1)).toMatchObject({ from: 1, next: 6, sources: new Set(["s"]) });
    expect(await set.read("a", 6)).toBeUndefined();
    expect(reads).toEqual([
      ["a", 0],
      ["a", 1],
    ]);
    const later = setUp({ from: 1_005, to: 1_007 });
    expect(await later.read()).toEqual([5, 6]);
  });

  test("a record of a newer version only within its range", async () => {
    for (const [end, newerAt] of [
      [3, undefined],
      [4, 7],
    ] as const) {
      const { set, logs } = setUp({ ends: { a: end } });
      const { read } = logs;
      logs.read = async (...args) => ({ ...(await read(...args))!, next: 3, newerAt: 7 });
      expect(await set.read("a", 0)).toMatchObject({ next: 3, newerAt });
    }
  });

  test("nothing where its log has no records", async () => {
    const { set, logs } = setUp();
    logs.read = async () => undefined;
    expect(await set.read("a", 0)).toBeUndefined();
  });

  const filters: [EventFilter, object, boolean][] = [
    [{}, {}, true],
    [{ type: "track" }, {}, true],
    [{ type: "page" }, {}, false],
    [{ type: "page", event: "Order" }, {}, false],
    [{ event: "Order" }, {}, true],
    [{ event: "Other" }, {}, false],
    [{ userId: "u" }, {}, true],
    [{ userId: "v" }, {}, false],
    [{ anonymousId: "a" }, {}, true],
    [{ anonymousId: "b" }, {}, false],
    [{ messageIds: ["x", "M0"] }, {}, true],
    [{ messageIds: ["m0"] }, {}, false],
    // The server's own ids are in lower case.
    [{ messageIds: ["M0"] }, { messageId: "m0" }, true],
    [{ text: "PRO" }, {}, true],
    [{ text: "none" }, {}, false],
    [{ property: "plan=pro" }, {}, true],
    [{ property: "plan=free" }, {}, false],
    [{ event: "Order", userId: "u", anonymousId: "a", messageIds: ["M0"], text: "pro" }, {}, true],
    [{ event: "Order", userId: "v" }, {}, false],
    // An event that cannot be built matches only what its record says.
    [{ type: "track" }, { messageId: "bad" }, true],
    [{ event: "Order" }, { messageId: "bad" }, false],
    [{ text: "pro" }, { messageId: "bad" }, false],
  ];
  test.each(filters)("with the filter %j an event %j: %p", async (filter, over, isRead) => {
    const { read, state } = setUp({ filter });
    state.inputs = [input(0, over)];
    expect(await read()).toEqual(isRead ? [0] : []);
  });

  test("with pauses in proportion to the events that it does not send", async () => {
    const { read, state, sleeps } = setUp();
    state.readMs = 40;
    for (const n of [1, 2, 3]) state.inputs[n] = input(n, { sourceId: "other" });
    state.inputs = state.inputs.slice(0, 4);
    await read();
    expect(sleeps).toEqual([]);
    await read();
    expect(sleeps).toEqual([30]);
    state.inputs = [input(0)];
    await read();
    expect(sleeps).toEqual([30, 30]);
    // All of these events were sent.
    await read();
    expect(sleeps).toEqual([30, 30]);
    state.inputs = [];
    await read();
    await read();
    expect(sleeps).toEqual([30, 30, 40]);
  });
});

describe("events that a replay misses", () => {
  const missing = async (over: Partial<EventJob>, first: number, inputs: LogInput[], at = 0) => {
    const { set, state, read } = setUp(over);
    Object.assign(state, { first, inputs });
    await read("a", at);
    return set.missingBefore;
  };

  test("are those before the oldest record of a trimmed log, within its time", async () => {
    const inputs = [input(5), input(6)];
    expect(await missing({}, 5, inputs)).toBe(1_005);
    expect(await missing({}, 5, inputs, 5)).toBe(1_005);
    expect(await missing({ from: 900, to: 1_003 }, 5, inputs)).toBe(1_003);
    expect(await missing({ from: 1_004 }, 5, inputs)).toBe(1_005);
    // Nothing of its time is missing, or was looked at.
    expect(await missing({ from: 1_005 }, 5, inputs)).toBeUndefined();
    expect(await missing({}, 0, inputs)).toBeUndefined();
    expect(await missing({}, 5, [])).toBeUndefined();
    expect(await missing({}, 5, inputs, 6)).toBeUndefined();
  });

  test("are known from an earlier start, too", async () => {
    const inputs = [input(5)];
    expect(await missing({ missingBefore: 1_007 }, 5, inputs)).toBe(1_007);
    expect(await missing({ missingBefore: 1_001 }, 5, inputs)).toBe(1_005);
    expect(await missing({ missingBefore: 1_001 }, 0, inputs)).toBe(1_001);
  });
});

const repetitions: [Partial<Occurrence>, boolean][] = [
  [{}, true],
  [{ receivedAt: 999 }, false],
  [{ receivedAt: 1_000 }, true],
  [{ receivedAt: 1_999 }, true],
  [{ receivedAt: 2_000 }, false],
  [{ sequence: 1 }, false],
  [{ sequence: 2 }, true],
  [{ sequence: 9 }, true],
  [{ sequence: 10 }, false],
  [{ log: "unknown" }, false],
];
test.each(repetitions)(
  "a repetition counts if the replay sends the event before it: %j: %p",
  (over, isSent) => {
    const { set, state, previous } = setUp();
    state.first = 2;
    const before: Occurrence = { log: "a", sequence: 5, receivedAt: 1_500, ...over };
    previous.set(7, before);
    expect(set.previousOf("a", 7)).toEqual(isSent ? before : undefined);
    expect(set.previousOf("a", 8)).toBeUndefined();
  },
);
