import { expect, mock, test } from "bun:test";
import fc from "fast-check";
import { timeOfRecord } from "../../src/event/record.ts";
import { MINUTE_MS, MinuteCounters } from "../../src/figures/minute-counters.ts";
import { REPEATED } from "../../src/figures/row.ts";
import { Notifier, systemClock } from "../../src/pipeline/clock.ts";
import type { EventJob } from "../../src/pipeline/model/replay-job.ts";
import { LaneReader } from "../../src/pipeline/reading/lane-reader.ts";
import { repetitionSearch } from "../../src/pipeline/repetitions/repetition-search.ts";
import {
  createRangeLogSet,
  replayRecord,
  replayRoutes,
} from "../../src/pipeline/replays/range-log-set.ts";
import { runs } from "../tier.ts";
import { RepetitionsRig, sdkRecord } from "./repetitions-rig.ts";

async function withRig<T>(rig: RepetitionsRig, use: (rig: RepetitionsRig) => Promise<T>) {
  try {
    return await use(rig);
  } finally {
    await rig.end();
  }
}

test("events are delivered as by a model that keeps all ids, across logs and restarts", async () => {
  const step = fc.record({
    log: fc.nat({ max: 2 }),
    id: fc.option(fc.nat({ max: 8 }), { nil: undefined, freq: 6 }),
    sourceId: fc.constantFrom("source", "source", "plain"),
    isRefused: fc.nat({ max: 9 }).map((n) => n === 0),
    passesMs: fc.nat({ max: 15_000 }),
    takes: fc.option(fc.integer({ min: 1, max: 9 }), { nil: 0 }),
    action: fc.constantFrom("continues", "continues", "continues", "restarts", "checkpoints"),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.array(step, { minLength: 40, maxLength: 80 }),
      async (count, steps) => {
        await withRig(new RepetitionsRig(count), async (rig) => {
          rig.setWindow(0, "plain");
          rig.live.connect("one", {}, { id: "plain", sourceId: "plain" });
          rig.start();
          const last = new Map<number, number>();
          const expected: number[] = [];
          const taken: number[] = [];
          for (const [n, step] of steps.entries()) {
            const { id, sourceId, isRefused, action } = step;
            const log = step.log % count;
            rig.now += step.passesMs;
            rig.logs[log]!.appendBytes(
              sdkRecord(n, id === undefined ? undefined : `id-${id}`, {
                ...{ at: rig.now, sourceId, after: rig.after(log) },
                ...(isRefused && { refused: "Expected an object" }),
              }),
            );
            const isJudged = id !== undefined && sourceId === "source" && !isRefused;
            const before = isJudged ? last.get(id) : undefined;
            if (isJudged) last.set(id, rig.now);
            const isRepeated = before !== undefined && rig.now - before <= 60_000;
            if (!isRepeated && !isRefused) expected.push(n);
            if (step.takes > 0) taken.push(...(await rig.take(step.takes)));
            if (action === "checkpoints") await rig.repetitions.checkpoint();
            if (action === "restarts") rig.start(rig.lane.record());
          }
          taken.push(...(await rig.drain()));
          expect(taken).toEqual(expected);
        });
      },
    ),
    { numRuns: runs(3, 50), endOnFailure: true },
  );
}, 300_000);

test("at least one of the copies that several processes take at once is delivered, whenever the server ends", async () => {
  const step = fc.record({
    log: fc.nat({ max: 1 }),
    id: fc.nat({ max: 3 }),
    // An outcome that is not stored before the server ends.
    takes: fc.option(fc.integer({ min: 1, max: 4 }), { nil: 0 }),
    stores: fc.boolean(),
    ends: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 40 }), async (steps) => {
      await withRig(new RepetitionsRig(2), async (rig) => {
        const delivered = new Set<number>();
        let stored = rig.lane.record();
        const ids = new Map<number, number>();
        for (const [n, { log, id, takes, stores, ends }] of steps.entries()) {
          ids.set(n, id);
          rig.logs[log]!.appendBytes(sdkRecord(n, `id-${id}`, { at: rig.now }));
          if (takes > 0) for (const it of await rig.take(takes)) delivered.add(ids.get(it)!);
          if (stores) stored = rig.lane.record();
          if (ends) rig.start(stored);
        }
        for (const it of await rig.drain()) delivered.add(ids.get(it)!);
        expect(delivered).toEqual(new Set(ids.values()));
      });
    }),
    { numRuns: runs(3, 50), endOnFailure: true },
  );
}, 300_000);

test("an event with an id beyond a bound is delivered again, and none is lost", async () => {
  const budget = { countMax: 256, allocated: 0 };
  await withRig(new RepetitionsRig(1, { budget, marksMax: 50 }), async (rig) => {
    for (let n = 0; n < 2_000; n++) rig.logs[0]!.appendBytes(sdkRecord(n, `id-${n % 1_000}`));
    for (let n = 2_000; n < 2_100; n++) rig.logs[0]!.appendBytes(sdkRecord(n, "id-999"));
    const taken = new Set(await rig.drain());
    for (let n = 0; n < 2_000; n++) expect(taken.has(n)).toBe(true);
    expect(taken.size).toBeLessThan(2_100);
    expect([...rig.ledger.repetitions.lots()].flatMap(({ rows }) => rows).length).toBeLessThan(151);
  });
});

test("an id from before a restart is known after it", async () => {
  await withRig(new RepetitionsRig(), async (rig) => {
    rig.logs[0]!.appendBytes(sdkRecord(0, "a"));
    expect(await rig.drain()).toEqual([0]);
    await rig.repetitions.checkpoint();
    rig.start(rig.lane.record());
    rig.logs[0]!.appendBytes(sdkRecord(1, "a"), sdkRecord(2, "b"));
    expect(await rig.drain()).toEqual([2]);
  });
});

test("one of two copies counts as the first, in whatever order logs are searched after a restart", async () => {
  await withRig(new RepetitionsRig(2), async (rig) => {
    rig.logs[0]!.appendBytes(sdkRecord(0, "a"));
    rig.logs[1]!.appendBytes(sdkRecord(1, "a"));
    const record = rig.lane.record();
    const search = (log: string) =>
      rig.repetitions.search(log, { from: 0, next: 1, sources: new Set(["source"]) });
    for (const log of ["1", "0"]) await search(log);
    rig.start(record);
    for (const log of ["0", "1"]) await search(log);
    const first = { log: "1", sequence: 0, receivedAt: 1_000_001 };
    expect(rig.repetitions.previousOf("0", 0)).toEqual(first);
    expect(rig.repetitions.previousOf("1", 0)).toBeUndefined();
  });
});

test("pixels and events whose id the server made are never repetitions", async () => {
  await withRig(new RepetitionsRig(), async (rig) => {
    const made = sdkRecord(0, undefined);
    rig.logs[0]!.appendBytes(made, made);
    expect(await rig.drain()).toEqual([0, 0]);
  });
});

test("two sources may send the same id", async () => {
  await withRig(new RepetitionsRig(), async (rig) => {
    rig.setWindow(60, "other");
    rig.live.connect("one", {}, { id: "of-other", sourceId: "other" });
    rig.start();
    rig.logs[0]!.appendBytes(sdkRecord(0, "a"), sdkRecord(1, "a", { sourceId: "other" }));
    rig.logs[0]!.appendBytes(sdkRecord(2, "a"), sdkRecord(3, "a", { sourceId: "other" }));
    expect(await rig.drain()).toEqual([0, 1]);
    expect(rig.repeated).toEqual(["source", "other"]);
  });
});

test("a connection that began after an event gets its repetition, and only one", async () => {
  await withRig(new RepetitionsRig(), async (rig) => {
    rig.logs[0]!.appendBytes(sdkRecord(0, "a"), sdkRecord(1, "a"), sdkRecord(2, "a"));
    rig.live.putDestination("two");
    rig.live.connect("two", { "0": 1 }, { id: "late" });
    expect(await rig.drain()).toEqual([0]);
    const late = rig.live.lanes().find(({ destination }) => destination.id === "two")!;
    const routes = {
      destination: late.destination,
      bySource: new Map([["source", late.connections[0]!]]),
    };
    expect(await rig.drain(new LaneReader(rig.logSet, routes, undefined))).toEqual([1]);
  });
});

test("a replay sends each event of its range once, also when the range has only a repetition", async () => {
  await withRig(new RepetitionsRig(), async (rig) => {
    const rows = [sdkRecord(0, "a"), sdkRecord(1, "b"), sdkRecord(2, "a"), sdkRecord(3, "b")];
    rig.logs[0]!.appendBytes(...rows);
    expect(await rig.drain()).toEqual([0, 1]);
    const replayed = async (from: number) => {
      const job = {
        ...{ id: "job", kind: "events", workspaceId: "workspace", destinationId: "one" },
        ...{ sources: ["source"], from, to: 1e12, rate: 1, starts: {}, ends: { "0": 4 }, logs: {} },
      } as unknown as EventJob;
      const parts = { job, logs: rig.logSet, clock: systemClock, stopping: new Notifier() };
      const set = createRangeLogSet(parts, undefined);
      const routes = replayRoutes(job, rig.live.destination("one")!);
      return await rig.drain(new LaneReader(set, routes, replayRecord(job)));
    };
    expect(await replayed(1_000_000)).toEqual([0, 1]);
    expect(await replayed(1_000_001)).toEqual([1, 2]);
    expect(await replayed(1_000_002)).toEqual([2, 3]);
  });
});

test("no lane passes over a repetition before it is stored", async () => {
  await withRig(new RepetitionsRig(), async (rig) => {
    rig.logs[0]!.appendBytes(sdkRecord(0, "a"), sdkRecord(1, "a"), sdkRecord(2, "b"));
    const { repetitions } = rig.ledger;
    const put = repetitions.put.bind(repetitions);
    repetitions.put = () => Promise.reject(new Error("The disk is full"));
    await expect(rig.take(10)).rejects.toThrow("The disk is full");
    expect(rig.lane.record().logs["0"]!.next).toBe(0);
    repetitions.put = put;
    expect(await rig.drain()).toEqual([0, 2]);
    expect(repetitions.find("0", 1)).toEqual([1, "0", 0, 1_000_000]);
    expect(repetitions.find("0", 2)).toBeUndefined();
  });
});

test("the setting applies at once when it is set, and ends when it is taken back", async () => {
  await withRig(new RepetitionsRig(), async (rig) => {
    rig.setWindow(0);
    rig.logs[0]!.appendBytes(sdkRecord(0, "a"), sdkRecord(1, "a"));
    expect(await rig.drain()).toEqual([0, 1]);
    rig.setWindow(60);
    rig.logs[0]!.appendBytes(sdkRecord(2, "c"), sdkRecord(3, "c"));
    expect(await rig.drain()).toEqual([2]);
    rig.setWindow(0);
    rig.logs[0]!.appendBytes(sdkRecord(4, "c"));
    expect(await rig.drain()).toEqual([4]);
  });
});

test("new records that are announced while the catalog cannot be read are searched later", async () => {
  await withRig(new RepetitionsRig(), async (rig) => {
    rig.logs[0]!.appendBytes(sdkRecord(0, "a"));
    rig.repetitions.wake({ log: "0", end: 1, sources: ["source"] });
    expect(await rig.drain()).toEqual([0]);
    rig.logs[0]!.appendBytes(sdkRecord(1, "a"));
    const { topology } = rig.live;
    rig.live.topology = () => {
      throw new Error("The catalog is being opened again");
    };
    rig.repetitions.wake({ log: "0", end: 2, sources: ["source"] });
    rig.live.topology = topology;
    expect(await rig.drain()).toEqual([]);
  });
});

test("the records within the window are needed for a restart, up to a bound of bytes", async () => {
  await withRig(new RepetitionsRig(1, { readBytesMax: 100_000 }), async (rig) => {
    const rows = Array.from({ length: 100 }, (_, n) => sdkRecord(n, `${n}`, { at: n * 1_000 }));
    rig.logs[0]!.appendBytes(...rows);
    rig.now = 99_000;
    expect(await rig.repetitions.neededFrom("0")).toBe(39);
    rig.setWindow(0);
    expect(await rig.repetitions.neededFrom("0")).toBe(Number.POSITIVE_INFINITY);
    rig.setWindow(86_400);
    expect(await rig.repetitions.neededFrom("0")).toBe(0);
    rig.logs[0]!.appendBytes(...Array.from({ length: 2_000 }, () => rows[0]!));
    expect(await rig.repetitions.neededFrom("0")).toBeGreaterThan(500);
  });
});

test("records from before an event that is not searched yet are needed as long as it is not", async () => {
  await withRig(new RepetitionsRig(), async (rig) => {
    rig.logs[0]!.appendBytes(sdkRecord(0, "a", { at: 1_000 }));
    rig.now = 2_000;
    expect(await rig.drain()).toEqual([0]);
    await rig.repetitions.checkpoint();
    rig.logs[0]!.appendBytes(sdkRecord(1, "a", { at: 30_000 }), sdkRecord(2, "b", { at: 31_000 }));
    rig.now = 500_000;
    expect(await rig.repetitions.neededFrom("0")).toBe(0);
    rig.start(rig.lane.record());
    expect(await rig.drain()).toEqual([2]);
    await rig.repetitions.checkpoint();
    expect(await rig.repetitions.neededFrom("0")).toBe(3);
  });
});

test("marks of records that are not in the log any more are removed", async () => {
  await withRig(new RepetitionsRig(), async (rig) => {
    rig.logs[0]!.appendBytes(sdkRecord(0, "a"), sdkRecord(1, "a"), sdkRecord(2, "b"));
    await rig.drain();
    expect([...rig.ledger.repetitions.lots()]).toHaveLength(1);
    await rig.logs[0]!.trim(2);
    await rig.repetitions.checkpoint();
    expect([...rig.ledger.repetitions.lots()]).toEqual([]);
    expect(rig.repetitions.previousOf("0", 1)).toBeUndefined();
  });
});

test("a repeated event counts for its source, in the metric and in the minute's figures", async () => {
  await withRig(new RepetitionsRig(), async (rig) => {
    const [received, counted] = [new MinuteCounters(10), mock()];
    const { live, ledger, readers, now } = rig;
    const metrics = { repeated: { inc: counted } } as never;
    const parts = { live, clock: { now: () => now }, timeOf: timeOfRecord, metrics, received };
    const search = repetitionSearch(parts)(ledger, readers);
    rig.logs[0]!.appendBytes(...["a", "a", "b", "a"].map((id, n) => sdkRecord(n, id)));
    await search.search("0", { from: 0, next: 4, sources: new Set(["source"]) });
    const workspace = live.sourceById("source")!.workspaceId;
    expect(counted.mock.calls).toEqual([[{ workspace }], [{ workspace }]]);
    const rows = [...received.rows(now - (now % MINUTE_MS))];
    expect(rows.map(([id, row]) => [id, row[REPEATED]])).toEqual([["source", 2]]);
  });
});

test("the position of the search is stored when it has changed, and not before a search", async () => {
  await withRig(new RepetitionsRig(), async (rig) => {
    const { repetitions } = rig.ledger;
    const put = mock(repetitions.put.bind(repetitions));
    repetitions.put = put;
    await rig.repetitions.checkpoint();
    expect(put).toHaveBeenCalledTimes(0);
    rig.logs[0]!.appendBytes(sdkRecord(0, "a"));
    expect(await rig.drain()).toEqual([0]);
    expect(put).toHaveBeenCalledTimes(0);
    for (let n = 0; n < 3; n++) await rig.repetitions.checkpoint();
    expect(put).toHaveBeenCalledTimes(1);
    expect(repetitions.positions()).toEqual({ "0": 1 });
    rig.logs[0]!.appendBytes(sdkRecord(1, "b"));
    await rig.drain();
    await rig.repetitions.checkpoint();
    expect(repetitions.positions()).toEqual({ "0": 2 });
    expect(put).toHaveBeenCalledTimes(2);
  });
});

test("announced records of sources without deduplication are passed unread, where nothing before them is left", async () => {
  await withRig(new RepetitionsRig(), async (rig) => {
    rig.setWindow(0, "plain");
    rig.logs[0]!.appendBytes(sdkRecord(0, "a"));
    await rig.drain();
    const read = mock(rig.logs[0]!.read.bind(rig.logs[0]!));
    rig.logs[0]!.read = read;
    const announce = (sourceId: string) => {
      rig.logs[0]!.appendBytes(sdkRecord(1, "b", { sourceId }));
      const end = rig.logs[0]!.end();
      rig.repetitions.wake({ log: "0", end, sources: [sourceId] });
    };
    const position = async () => {
      await rig.repetitions.checkpoint();
      return rig.ledger.repetitions.positions()["0"];
    };
    rig.repetitions.wake({ log: "0", end: 1, sources: ["source"] });
    announce("plain");
    expect(await position()).toBe(2);
    announce("source");
    expect(await position()).toBe(2);
    // The record before it is not searched yet.
    announce("plain");
    expect(await position()).toBe(2);
    expect(read).toHaveBeenCalledTimes(0);
    // What was announced without a range may be of any source.
    await rig.drain();
    expect(await position()).toBe(4);
    rig.repetitions.wake();
    announce("plain");
    expect(await position()).toBe(4);
  });
});

test("an id is known for as long as the window lasts, to the millisecond", async () => {
  await withRig(new RepetitionsRig(), async (rig) => {
    const at = 1_000_000;
    rig.logs[0]!.appendBytes(
      sdkRecord(0, "a", { at }),
      sdkRecord(1, "b", { at }),
      sdkRecord(2, "a", { at: at + 60_000 }),
      sdkRecord(3, "b", { at: at + 60_001 }),
    );
    expect(await rig.drain()).toEqual([0, 1, 3]);
    expect(rig.repeated).toEqual(["source"]);
  });
});

test("the memory of ids is released when a source no longer has a window, and at the end", async () => {
  const budget = { countMax: 1e6, allocated: 0 };
  await withRig(new RepetitionsRig(1, { budget }), async (rig) => {
    const take = async (n: number) => {
      rig.logs[0]!.appendBytes(sdkRecord(n, `id ${n}`));
      await rig.drain();
      return budget.allocated > 0;
    };
    expect(await take(0)).toBe(true);
    rig.setWindow(0);
    expect(await take(1)).toBe(false);
    rig.setWindow(60);
    expect(await take(2)).toBe(true);
    rig.repetitions.close();
    expect(budget.allocated).toBe(0);
    expect(await rig.repetitions.neededFrom("unknown")).toBe(Number.POSITIVE_INFINITY);
  });
});
