import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { addUnsettledKeys } from "../../src/backup/unsettled.ts";
import { eventOf } from "../../src/event/event.ts";
import { readRecord, timeOfRecord } from "../../src/event/record.ts";
import type { EventJob } from "../../src/pipeline/model/replay-job.ts";
import type { PipelineParts } from "../../src/pipeline/pipeline.ts";
import { HeldRecords, newerVersionWarning } from "../../src/pipeline/reading/held-records.ts";
import { RestingReader } from "../../src/pipeline/reading/resting-reader.ts";
import { SharedReader } from "../../src/pipeline/reading/shared-reader.ts";
import { FakeLive, laneMetrics, MemoryLog } from "./doubles.ts";
import { logger, RepetitionsRig, sdkRecord } from "./repetitions-rig.ts";
import { Rig, until } from "./rig.ts";

/**
 * Every consumer of a log with records of this version, damaged ones, and ones that a newer
 * executable wrote. The newer executable is this one, once `learn` has given the records a version
 * that it reads.
 */

const HOUR = 3_600_000;
const started = Date.now() - 60_000;
const newer: Buffer[] = [];

/** The event `n` of this version. */
const known = (n: number) => sdkRecord(n, `id ${n}`, { at: started + n });

/** The event `n` as a newer executable wrote it. */
function unknown(n: number): Buffer {
  const bytes = Buffer.from(known(n));
  bytes[0] = 5;
  newer.push(bytes);
  return bytes;
}

/** A record of this version that ends before its JSON. */
const damaged = () => Buffer.from(known(0).subarray(0, 20));

/** From here on, the newer executable reads the log. */
function learn(): void {
  for (const bytes of newer.splice(0)) bytes[0] = 4;
}

let rig: Rig;
const start = (over: Partial<PipelineParts> = {}) =>
  rig.start({ decode: readRecord, eventOf, timeOf: timeOfRecord, ...over });
const holds = () => rig.pipeline.warnings().length > 0;

beforeEach(() => {
  newer.length = 0;
  rig = new Rig();
});
afterEach(() => rig.end());

async function upgrade(): Promise<void> {
  await rig.stop();
  learn();
  start();
}

describe("a record of a newer version", () => {
  test("holds a lane after a start, which passes a damaged record; the newer version continues", async () => {
    const sink = rig.webhook("one");
    rig.log.appendBytes(known(0), damaged(), known(1), unknown(2), known(3));
    start();
    await until(() => holds() && sink.taken.length === 2);
    expect(rig.pipeline.warnings()).toEqual([
      "Deliveries wait at events that a newer version of pixelmill stored in the event log 0: start that version again, which delivers them",
    ]);
    await until(() => rig.pipeline.status("one")!.lagEvents === 2);
    // News of the lane's source, and of another.
    rig.log.appendUnread([known(4)], ["source"]);
    rig.log.appendUnread([known(5)], ["another"]);
    await upgrade();
    await until(() => sink.taken.length === 6);
    expect(sink.numbers()).toEqual([0, 1, 2, 3, 4, 5]);
    expect(rig.pipeline.warnings()).toEqual([]);
  });

  test("is as late as its lane says", async () => {
    rig.webhook("one");
    rig.log.appendBytes(unknown(0));
    start();
    await until(holds);
    expect(rig.pipeline.status("one")).toMatchObject({ lagEvents: 1 });
    expect(rig.pipeline.status("one")!.lagSeconds).toBeGreaterThan(59);
  });

  test("is as late as a lane says that came to it at rest", async () => {
    rig.webhook("one");
    start();
    rig.log.appendBytes(unknown(0));
    await until(() => rig.pipeline.status("one")!.lagSeconds > 59);
    rig.log.appendUnread([known(1)], ["another"]);
    expect(rig.pipeline.status("one")).toMatchObject({ lagEvents: 2 });
  });

  test("holds a lane that has read its log to the end", async () => {
    const sink = rig.webhook("one");
    start();
    rig.log.appendUnread([known(0)], ["source"]);
    await until(() => sink.taken.length === 1);
    rig.log.appendBytes(unknown(1));
    await until(holds);
    // Lanes that are at the end pass what is announced as of other sources.
    rig.log.appendUnread([known(2)], ["another"]);
    rig.log.appendUnread([known(3)], ["source"]);
    await upgrade();
    await until(() => sink.taken.length === 4);
    expect(sink.numbers()).toEqual([0, 1, 2, 3]);
  });

  test("holds no lane that has passed it", async () => {
    const late = rig.webhook("late", () => new Response("", { status: 503 }));
    const sink = rig.webhook("one");
    rig.log.appendBytes(known(0), known(1));
    start();
    await until(() => sink.taken.length === 2 && late.requests > 0);
    await rig.stop();
    rig.log.appendBytes(unknown(2));
    learn();
    start();
    await until(() => sink.taken.length === 3);
    await rig.stop();
    // The log as the older executable sees it.
    const { records } = await rig.log.read(2, 1);
    records[0]!.bytes[0] = 5;
    late.answer = () => new Response("ok");
    start();
    rig.log.appendUnread([known(3)], ["source"]);
    await until(() => sink.taken.length === 4 && late.taken.length === 2 && holds());
    expect(sink.numbers()).toEqual([0, 1, 2, 3]);
    records[0]!.bytes[0] = 4;
    await rig.stop();
    start();
    await until(() => late.taken.length === 4);
  });

  test("holds resting lanes without waking them, and what is behind it is kept", async () => {
    const live = new FakeLive();
    live.putDestination("one");
    live.connect("one", {}, { sourceId: "another" });
    const [lane] = live.lanes();
    const log = new MemoryLog();
    log.appendBytes(known(0), unknown(1), known(2));
    const parts = { decode: readRecord, eventOf, logger, metrics: laneMetrics() };
    const readers = new Map([["0", log]]);
    const logs = new SharedReader({ ...parts, readers }).subset(readers);
    const resting = RestingReader.create(logs, lane!.connections, undefined, () => 0)!;
    const ends = new Map([["0", log.end()]]);
    expect(resting.nextBelow(ends)).toEqual({ log: "0", sequence: 0 });
    expect(resting.pass("0", (await logs.read("0", 0))!)).toBe(true);
    expect(resting.nextBelow(ends)).toBeUndefined();
    logs.setAnnouncedEnd("0", 3);
    expect(resting.record().logs["0"]).toEqual({ next: 1, pending: [] });
    expect(resting.oldestAt).toBe(started + 1);
    expect(resting.nextBelow(ends)).toBeUndefined();
    expect(resting.lows().get("0")).toBe(1);
  });

  test("holds what came to other logs after it", async () => {
    const rig = new RepetitionsRig(2);
    const [first, second] = rig.logs;
    first!.appendBytes(known(0), unknown(1));
    second!.appendBytes(
      sdkRecord(2, "beside", { after: [{ log: 0, sequence: 1 }] }),
      sdkRecord(3, "behind", { after: [{ log: 0, sequence: 2 }] }),
    );
    expect(await rig.drain()).toEqual([0, 2]);
    learn();
    rig.start(rig.lane.record());
    expect(await rig.drain()).toEqual([1, 3]);
    await rig.end();
  });

  test("holds a replay, which the newer version ends", async () => {
    const sink = rig.webhook("one");
    rig.log.appendBytes(known(0), unknown(1), known(2), damaged(), known(3));
    learn();
    start();
    await until(() => sink.taken.length === 4);
    await rig.stop();
    const { records } = await rig.log.read(1, 1);
    records[0]!.bytes[0] = 5;
    newer.push(records[0]!.bytes as Buffer);
    sink.taken.length = 0;
    start();
    const asked = { destinationId: "one", from: started - HOUR, rate: 100_000 };
    const { id } = (await rig.pipeline.replays.start("workspace", asked)) as EventJob;
    await until(() => sink.taken.length === 1 && holds());
    expect(rig.pipeline.replays.get("workspace", id)?.state).toBe("running");
    await upgrade();
    await until(() => rig.pipeline.replays.get("workspace", id)?.state === "done");
    expect(sink.numbers()).toEqual([0, 1, 2, 3]);
  });

  test("makes a search say so, and the search finds the other records", async () => {
    rig.log.appendBytes(known(0), unknown(1), damaged(), known(2));
    start();
    const { signal } = new AbortController();
    const find = (over = {}) =>
      rig.pipeline.search({ isSource: () => true, limit: 9, ...over }, signal);
    const all = await find();
    expect(all.events.map(({ sequence }) => sequence)).toEqual([3, 0]);
    expect(all.hasNewer).toBe(true);
    expect(await find({ from: started + 2 })).toMatchObject({ hasNewer: false });
    learn();
    expect((await find()).events.map(({ sequence }) => sequence)).toEqual([3, 1, 0]);
  });

  test("does not end a live tail", async () => {
    start();
    const seen: string[] = [];
    rig.pipeline.liveTail.subscribe("workspace", ({ messageId }) => seen.push(messageId));
    rig.log.appendBytes(known(0));
    await until(() => seen.length === 1);
    rig.log.appendBytes(unknown(1), damaged());
    for (let n = 2; seen.length < 2; n++) {
      rig.log.appendBytes(known(n));
      await Bun.sleep(1);
    }
    expect(seen[0]).toBe("id 0");
  });

  test("is not passed by the search for repeated events", async () => {
    const repetitions = new RepetitionsRig();
    const [log] = repetitions.logs;
    const first = sdkRecord(1, "twice");
    first[0] = 5;
    log!.appendBytes(sdkRecord(0, "own"), first, sdkRecord(2, "twice"));
    expect(await repetitions.take(9)).toEqual([0]);
    // A search of another log goes as far as what the event came after.
    await repetitions.repetitions.search("0", { from: 0, next: 3, sources: new Set(["source"]) });
    await repetitions.repetitions.checkpoint();
    expect(repetitions.ledger.repetitions.positions()).toEqual({ "0": 1 });
    first[0] = 4;
    repetitions.start(repetitions.lane.record());
    expect(await repetitions.take(9)).toEqual([1]);
    expect(repetitions.repeated).toEqual(["source"]);
    await repetitions.end();
  });

  test("is no event that a migration leaves behind", async () => {
    const live = new FakeLive();
    live.addSource();
    live.putDestination("one");
    live.connect("one");
    const log = new MemoryLog();
    log.appendBytes(known(0), damaged(), unknown(1));
    const parts = { decode: readRecord, eventOf, logger, metrics: laneMetrics() };
    const readers = new Map([["0", log]]);
    const logs = new SharedReader({ ...parts, readers }).subset(readers);
    const debts = new Map<string, Set<string>>();
    const migrate = () => addUnsettledKeys(debts, { live, logs, lane: () => undefined });
    await expect(migrate()).rejects.toThrow("a newer version of pixelmill stored some");
    expect(debts.get("one")).toEqual(new Set(["0 0"]));
  });

  test("has a time, also if it is shorter than a pixel's record", () => {
    expect(timeOfRecord(unknown(7).subarray(0, 16))).toBe(started + 7);
  });
});

test("a log is held while a delivery has not passed its furthest record of a newer version", () => {
  const held = new HeldRecords();
  for (const sequence of [4, 9, 7]) held.note("0", sequence);
  held.note("2", 3);
  const above = (lows: Record<string, number>) => held.logsAbove((log) => lows[log]);
  expect(above({ "0": 9, "2": 3 })).toEqual(["0", "2"]);
  expect(above({ "0": 10, "2": 0 })).toEqual(["2"]);
  expect(above({ "0": 8 })).toEqual(["0"]);
  expect(above({})).toEqual([]);
  expect(newerVersionWarning([])).toEqual([]);
  expect(newerVersionWarning(["2"])[0]).toContain("in the event log 2:");
  expect(newerVersionWarning(["0", "2"])).toEqual([
    expect.stringContaining("in the event logs 0, 2:"),
  ]);
});
