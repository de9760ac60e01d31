import { expect, spyOn, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { TimeSlicer } from "../../src/concurrency/time-slicer.ts";
import type { DestinationKind } from "../../src/destinations/destination.ts";
import { systemClock } from "../../src/pipeline/clock.ts";
import { BatchPace } from "../../src/pipeline/lane/batch-pace.ts";
import { Lane } from "../../src/pipeline/lane/lane.ts";
import { LaneRegistry, type LaneRegistryParts } from "../../src/pipeline/lane-registry.ts";
import { type Ledger, openLedger } from "../../src/pipeline/ledger/ledger.ts";
import { LiveTail } from "../../src/pipeline/live-tail.ts";
import { MemoryBudget } from "../../src/pipeline/memory-budget.ts";
import type { NewLetter } from "../../src/pipeline/model/dead-letter.ts";
import { noCounts } from "../../src/pipeline/model/replay-job.ts";
import { CodeLogs } from "../../src/pipeline/monitoring/code-logs.ts";
import { LatestOutcomes } from "../../src/pipeline/recent/latest-outcomes.ts";
import { holds } from "../until.ts";
import { FakeLive, FakeSandbox, fail, feedOf, laneMetrics, MemoryLog, record } from "./doubles.ts";
import { numbersTo, until } from "./rig.ts";

/** A type of destinations to which nothing is sent here. */
const known = { kind: "known", batchSize: () => 1, concurrency: 1 };
const kinds = new Map([["known", known as unknown as DestinationKind]]);

/** Lanes over ten records of one source. */
async function rig(
  test: (
    live: FakeLive,
    lanes: LaneRegistry,
    ledger: Ledger,
    log: MemoryLog,
  ) => Promise<void> | void,
  over: Partial<LaneRegistryParts> = {},
) {
  const directory = mkdtempSync(join(tmpdir(), "pipeline-"));
  const logger = pino({ level: "silent" });
  const live = new FakeLive();
  const log = new MemoryLog();
  live.addSource();
  log.append(...numbersTo(10).map((n) => record(n)));
  const ledger = openLedger(directory, logger);
  const metrics = laneMetrics();
  const logs = feedOf(log);
  const lanes = new LaneRegistry({
    ...{
      live,
      logs,
      replayedLogs: logs,
      ledger,
      logger,
      metrics,
      liveTail: new LiveTail(logs, live),
      latestOutcomes: new LatestOutcomes(live, systemClock),
      clock: systemClock,
      codeLogs: new CodeLogs(systemClock),
    },
    memory: new MemoryBudget(),
    pace: new BatchPace(),
    laneSlices: new TimeSlicer(),
    ...{ sandbox: new FakeSandbox(), kinds, retryWindowMs: 1_000 },
    ...over,
  });
  await test(live, lanes, ledger, log);
  await lanes.stop();
  await ledger.close();
  rmSync(directory, { recursive: true });
}

test("the log keeps the events of a destination of an unknown type", () =>
  rig((live, lanes) => {
    live.putDestination("one", { type: "of a later version" });
    const connection = live.connect("one");
    lanes.refresh();
    expect(lanes.durableLow("0")).toBe(0);
    live.disconnect(connection);
    lanes.refresh();
    expect(lanes.durableLow("0")).toBeUndefined();
  }));

test("records of other sources are trimmed although a lane has settled no event", () =>
  rig(async (live, lanes) => {
    live.putDestination("one", { type: "known" });
    live.connect("one", {}, { sourceId: "another" });
    lanes.refresh();
    expect(lanes.durableLow("0")).toBe(0);
    await until(() => {
      lanes.checkpoint(new Map([["0", 10]]));
      return lanes.durableLow("0") === 10;
    });
  }));

test("a destination with nothing to read holds no parts of a delivery, and its position is stored", () => {
  const opened = spyOn(MemoryBudget.prototype, "openLane");
  return rig(async (live, lanes, ledger, log) => {
    for (const n of numbersTo(20)) {
      live.putDestination(`idle ${n}`, { type: "known" });
      live.connect(`idle ${n}`, { 0: 10 });
    }
    lanes.refresh();
    expect(opened).toHaveBeenCalledTimes(0);
    lanes.checkpoint(new Map([["0", 10]]));
    await until(() => ledger.lane("idle 19")?.logs[0]?.next === 10);
    live.putDestination("behind", { type: "known" });
    live.connect("behind", { 0: 9 });
    lanes.refresh();
    await until(() => opened.mock.calls.length === 1);
    // An ingest process that restarts announces its log once, without new records.
    lanes.wake();
    expect(opened).toHaveBeenCalledTimes(1);
    log.append(record(10));
    lanes.wake();
    await until(() => opened.mock.calls.length === 21);
  }).finally(() => opened.mockRestore());
});

test("lanes that a record wakes while the ledger cannot be read get it once the ledger can", () => {
  const opened = spyOn(MemoryBudget.prototype, "openLane");
  return rig(async (live, lanes, ledger, log) => {
    for (const id of ["one", "other"]) {
      live.putDestination(id, { type: "known" });
      live.connect(id, { 0: 10 });
    }
    lanes.refresh();
    const lane = spyOn(ledger, "lane").mockImplementation(() => {
      throw new Error("The ledger is being opened again");
    });
    log.append(record(10));
    lanes.wake({ log: "0", end: 11, sources: ["source"] });
    log.append(record(11, "ann", { sourceId: "another" }));
    lanes.wake({ log: "0", end: 12, sources: ["another"] });
    expect([opened.mock.calls.length, lanes.durableLow("0")]).toEqual([0, 10]);
    lane.mockRestore();
    await until(() => opened.mock.calls.length === 2);
    expect([...lanes.gauges()].map((it) => it.lagEvents())).toEqual([2, 2]);
  }).finally(() => opened.mockRestore());
});

test("a lane that cannot be updated does not stop updates of others, and its error is logged once", () => {
  const errors: unknown[] = [];
  const logger = pino({}, { write: (line) => void errors.push(JSON.parse(line)) });
  const { update } = Lane.prototype;
  const spy = spyOn(Lane.prototype, "update").mockImplementation(function (this: Lane, ...to) {
    if (to[0].id === "broken") throw new Error("broken");
    update.apply(this, to);
  });
  const all = spyOn(FakeLive.prototype, "lanes");
  return rig(
    (live, lanes) => {
      for (const id of ["broken", "one"]) {
        live.putDestination(id, { type: "known" });
        live.connect(id);
      }
      lanes.refresh();
      for (const id of ["broken", "one"]) live.putDestination(id, { type: "known", name: "New" });
      all.mockClear();
      for (let n = 0; n < 10; n++) lanes.refresh();
      expect(lanes.gaugesOf("one")?.labels.name).toBe("New");
      expect(errors).toMatchObject([{ destinationId: "broken" }]);
      expect([all.mock.calls.length, lanes.durableLow("0")]).toEqual([0, 0]);
    },
    { logger },
  ).finally(() => {
    spy.mockRestore();
    all.mockRestore();
  });
});

test("a lane that cannot read its replays hears of them later, and the others at once", () => {
  const heard: string[] = [];
  let isBroken = true;
  const spy = spyOn(Lane.prototype, "refreshReplays").mockImplementation(function (this: Lane) {
    if (isBroken && this.destination.id === "broken") throw new Error("The ledger is closed");
    heard.push(this.destination.id);
  });
  return rig(async (live, lanes) => {
    for (const id of ["broken", "one"]) {
      live.putDestination(id, { type: "known" });
      live.connect(id);
    }
    lanes.refresh();
    lanes.refreshReplays(["broken", "one"]);
    expect(heard).toEqual(["one"]);
    isBroken = false;
    await until(() => heard.length > 1);
    expect(heard).toEqual(["one", "broken"]);
  }).finally(() => spy.mockRestore());
});

test("a replay that begins while a partition stops starts no lane in it", () =>
  rig(async (live, lanes, ledger) => {
    live.putDestination("one", { type: "known" });
    lanes.refresh();
    await ledger.changeJobs((jobs) =>
      jobs.start({
        ...{ id: "job", workspaceId: "workspace", state: "running", rate: 1, createdAt: 0 },
        ...{ kind: "events", destinationId: "one", sources: ["source"], from: 0, to: 1 },
        ...{ counts: noCounts, starts: {}, ends: {}, logs: {} },
      }),
    );
    const stopped = lanes.stop();
    lanes.refreshReplays(["one"]);
    await stopped;
    expect(lanes.gaugesOf("one")).toBeUndefined();
  }));

test("a destination that the catalog of a node lacks, as it is behind, keeps its cursor and dead letters", () => {
  const catalog = Promise.withResolvers<void>();
  const over = { catalogCurrent: () => catalog.promise };
  return rig(async (live, lanes, ledger) => {
    const letter: NewLetter = {
      ...{ id: "letter", workspaceId: "workspace", destinationId: "one", sourceId: "source" },
      ...{ messageId: "m", stage: "deliver", reason: "no", attempts: 1, text: "{}", user: "u" },
      ...{ type: "track", receivedAt: 0, createdAt: 0 },
    };
    const record = { logs: { 0: { next: 7, pending: [] } }, known: {} };
    const change = { destinationId: "one", record, deadLetters: [letter], settledRequeued: [] };
    const kept = () => [ledger.lane("one")?.logs[0]?.next, ledger.letters.countOf("workspace")];
    ledger.schedule({ collect: () => change, committed() {}, fail });
    await until(() => kept()[1] === 1);
    lanes.refresh();
    await holds(20, () => expect([...kept(), lanes.durableLow("0")]).toEqual([7, 1, 0]));
    live.putDestination("one", { type: "known" });
    live.connect("one", { 0: 7 }, { sourceId: "another" });
    catalog.resolve();
    await until(() => lanes.gaugesOf("one") !== undefined);
    await holds(50, () => expect([...kept(), lanes.durableLow("0")]).toEqual([7, 1, 7]));
    live.remove("one");
    lanes.refresh();
    await until(() => kept()[0] === undefined && kept()[1] === 0);
  }, over);
});

test("the log is not trimmed while the catalog cannot be read, which is tried twice a second", () =>
  rig(async (live, lanes) => {
    const { topology } = live;
    let reads = 0;
    const broken = () => {
      reads += 1;
      throw new Error("EIO");
    };
    live.topology = broken;
    for (let n = 0; n < 100; n++) lanes.refresh();
    expect([reads, lanes.durableLow("0")]).toEqual([1, 0]);
    live.topology = topology;
    await until(() => {
      lanes.refresh();
      return lanes.durableLow("0") === undefined;
    });
    live.topology = broken;
    lanes.refresh();
    expect(lanes.durableLow("0")).toBe(0);
  }));

test("a destination that is reconnected at once keeps its cursor", () =>
  rig(async (live, lanes, ledger) => {
    live.putDestination("one", { type: "known" });
    const before = live.connect("one", {}, { sourceId: "another" });
    lanes.refresh();
    const isKept = () => ledger.lane("one") !== undefined;
    await until(() => {
      lanes.checkpoint(new Map([["0", 10]]));
      return isKept();
    });
    live.disconnect(before);
    lanes.refresh();
    live.connect("one", {}, { sourceId: "another" });
    lanes.refresh();
    const end = performance.now() + 300;
    await until(() => {
      expect(isKept()).toBe(true);
      return performance.now() > end;
    });
  }));

/** Connects this many destinations, one source each, and resolves once their lanes have started. */
async function connectIdle(live: FakeLive, lanes: LaneRegistry, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    live.putDestination(`d${n}`, { type: "known" });
    live.connect(`d${n}`, {}, { sourceId: `s${n}` });
  }
  lanes.refresh();
  await until(() => [...lanes.gauges()].length === count);
}

test("a change of one destination reads that one alone, however many there are", () =>
  rig(async (live, lanes) => {
    await connectIdle(live, lanes, 300);
    const ofOne = spyOn(live, "lane");
    const ofAll = spyOn(live, "lanes");
    live.putDestination("d7", { name: "Renamed" });
    lanes.refresh();
    expect([ofOne.mock.calls, ofAll.mock.calls.length]).toEqual([[["d7"]], 0]);
    expect(lanes.gaugesOf("d7")?.labels.name).toBe("Renamed");
    lanes.refresh();
    expect(ofOne).toHaveBeenCalledTimes(1);
  }));

test("a new record looks at the lanes of its source alone", () =>
  rig(async (live, lanes) => {
    await connectIdle(live, lanes, 300);
    live.connect("d8", {}, { sourceId: "s7" });
    lanes.refresh();
    const woken: string[] = [];
    const { wake } = Lane.prototype;
    const spy = spyOn(Lane.prototype, "wake").mockImplementation(function (this: Lane) {
      woken.push(this.destination.id);
      wake.call(this);
    });
    lanes.wake({ log: "0", end: 1, sources: ["s7"] });
    expect(woken.sort()).toEqual(["d7", "d8"]);
    live.remove("d7");
    lanes.wake({ log: "0", end: 2, sources: ["s7"] });
    expect(woken.sort()).toEqual(["d7", "d8", "d8"]);
    spy.mockRestore();
  }));

test("cursors of idle lanes are written in rounds, some lanes in each", () =>
  rig(async (live, lanes, ledger) => {
    await connectIdle(live, lanes, 250);
    const scheduled: object[] = [];
    const spy = spyOn(ledger, "schedule").mockImplementation((lane) => void scheduled.push(lane));
    lanes.checkpoint(new Map([["0", 10]]));
    const counts = [scheduled.length];
    for (let n = 0; n < 9; n++) {
      lanes.continueCheckpoint();
      counts.push(scheduled.length - counts.reduce((sum, count) => sum + count, 0));
    }
    expect(Math.max(...counts)).toBe(100);
    expect(new Set(scheduled).size).toBe(250);
    spy.mockRestore();
  }));

test("lanes that hold back no trimming are written in turn, a few in each trim interval", () =>
  rig(async (live, lanes, ledger) => {
    await connectIdle(live, lanes, 250);
    const scheduled = new Set<object>();
    const spy = spyOn(ledger, "schedule").mockImplementation((lane) => void scheduled.add(lane));
    const run = () => {
      lanes.checkpoint(new Map([["0", 0]]));
      for (let n = 0; n < 9; n++) lanes.continueCheckpoint();
      return scheduled.size;
    };
    expect([run(), run(), run()]).toEqual([100, 200, 250]);
    spy.mockRestore();
  }));

test("no log is trimmed before all of many lanes are started, some at a time", () =>
  rig(async (live, lanes) => {
    for (let n = 0; n < 1_000; n++) {
      live.putDestination(`d${n}`, { type: "known" });
      live.connect(`d${n}`, { 0: 10 }, { sourceId: `s${n}` });
    }
    lanes.refresh();
    const started = () => [...lanes.gauges()].length;
    expect(started()).toBe(64);
    expect(lanes.durableLow("0")).toBe(0);
    live.remove("d999");
    await until(() => {
      lanes.refresh();
      return started() === 999;
    });
    expect(lanes.durableLow("0")).toBe(10);
    lanes.wake({ log: "0", end: 10, sources: ["s998"] });
  }));

test("a destination that changes before its lane is started gets a lane with the change", () =>
  rig(async (live, lanes) => {
    const ids = numbersTo(1_000).map((n) => `destination ${n}`);
    for (const id of ids) {
      live.putDestination(id, { type: "known", name: "Before" });
      live.connect(id);
    }
    lanes.refresh();
    const [started, changed] = [ids.at(0)!, ids.at(-1)!];
    const nameOf = (id: string) => lanes.gaugesOf(id)?.labels.name;
    expect([nameOf(started), nameOf(changed)]).toEqual(["Before", undefined]);
    live.putDestination(changed, { type: "known", name: "After" });
    lanes.refresh();
    expect(nameOf(changed)).toBe("After");
    await until(() => ids.every((id) => nameOf(id) !== undefined));
    expect([nameOf(started), nameOf(changed)]).toEqual(["Before", "After"]);
  }));
