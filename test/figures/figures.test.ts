import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { FigureRecorder } from "../../src/figures/figure-recorder.ts";
import { DAY_MS, FigureTables, HOUR_MS, type NodeRow } from "../../src/figures/figure-tables.ts";
import { readPoints, readTotals } from "../../src/figures/figures.ts";
import { MINUTE_MS, MinuteCounters } from "../../src/figures/minute-counters.ts";
import {
  type FigureRow,
  LAG_EVENTS,
  latencies,
  latencyCounter,
  latencyQuantile,
  mergeNodes,
  mergeTimes,
  RECEIVED,
  rowOf,
} from "../../src/figures/row.ts";
import { connectionSeries, RECORDED, seriesKinds, seriesOf } from "../../src/figures/series.ts";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";
import { openView } from "../../src/store/lmdb/view.ts";
import type { OrderedLog } from "../../src/store/ordered/ordered-log.ts";
import { OrderedStore } from "../../src/store/ordered/ordered-store.ts";
import type { Store } from "../../src/store/store.ts";
import { MemoryLog } from "../store/memory-log.ts";

const logger = pino({ level: "silent" });
const start = 400_000 * HOUR_MS;
const destination = seriesOf("destination", "d1");

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), "pixelmill-figures-"));
  cleanups.push(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function openFigures(path: string, order?: OrderedLog): { store: Store; tables: FigureTables } {
  const name = "The figures";
  const options = { path: join(path, "figures.mdb"), name, logger };
  const store =
    order === undefined
      ? openStore(options)
      : new OrderedStore({ local: openView(options), log: order, name, logger });
  cleanups.push(() => store.close());
  return { store, tables: new FigureTables(store) };
}

/** A recorder whose clock and counters the test sets. */
class Node {
  now = start;
  counted = new Map<string, FigureRow>();
  lag = new Map<string, FigureRow>();
  opened: FigureTables | undefined;
  readonly recorder: FigureRecorder;

  constructor(tables: FigureTables | undefined, share = 1, at = start) {
    this.now = at;
    this.opened = tables;
    this.recorder = new FigureRecorder({
      tables: () => this.opened,
      collect: (at) => (at === minuteOf(this.now - 1) ? this.counted : new Map()),
      collectLag: async () => this.lag,
      share: () => share,
      now: () => this.now,
      earliestNow: () => this.now,
      logger,
    });
  }

  /** Counts a row in the next minute, and stores that minute at its end. */
  async minute(row: FigureRow): Promise<void> {
    this.counted = new Map([[destination, row]]);
    this.now = minuteOf(this.now) + MINUTE_MS;
    await this.recorder.step();
    this.counted = new Map();
  }
}

const minuteOf = (at: number) => Math.floor(at / MINUTE_MS) * MINUTE_MS;
const lastHourBefore = (to: number) => ({ from: to - HOUR_MS, to, stepMs: MINUTE_MS });

test("a crash loses the current minute alone, and that minute is a gap and not a zero", async () => {
  const path = directory();
  const first = openFigures(path);
  const node = new Node(first.tables);
  await node.minute([5, 4]);
  await node.minute([]);
  // The process is killed here: nothing is stored on the way. It comes back three minutes later.
  await first.store.close();
  const { tables } = openFigures(path);
  const after = new Node(tables, 1, start + 5 * MINUTE_MS);
  await after.minute([7]);
  const range = { from: start, to: start + 6 * MINUTE_MS, stepMs: MINUTE_MS };
  const points = readPoints(tables, destination, range, []);
  expect(points.map(({ recordedSeconds }) => recordedSeconds)).toEqual([60, 60, 0, 0, 0, 60]);
  expect(points.map(({ row }) => row)).toEqual([[5, 4], [], [], [], [], [7]]);
});

test("an orderly stop loses nothing, and two processes may share a minute", async () => {
  const { tables } = openFigures(directory());
  const node = new Node(tables);
  node.counted = new Map([[destination, [3]]]);
  node.now = start + 20_000;
  await node.recorder.close();
  const next = new Node(tables, 1, start + 30_000);
  await next.minute([4]);
  const [point] = readPoints(tables, destination, lastHourBefore(start + HOUR_MS), []);
  expect(point).toEqual({ at: start, recordedSeconds: 50, row: [7] });
});

test("a repeated write of a minute counts once", async () => {
  const { tables } = openFigures(directory());
  const rows: NodeRow[] = [{ series: destination, at: start, recorder: "a", row: [5, 4] }];
  await tables.write(rows);
  await tables.write(rows);
  const read = tables.minutes({
    series: destination,
    from: start,
    to: start + HOUR_MS,
    unwritten: rows,
  });
  expect(read).toEqual(new Map([[start, [5, 4]]]));
});

test("minutes wait while the store cannot be opened, and are a gap when it takes too long", async () => {
  const { tables } = openFigures(directory());
  const node = new Node(undefined);
  await node.minute([1]);
  await node.minute([2]);
  const waiting = node.recorder.unwritten([destination]);
  const known = waiting.filter(({ series }) => series === destination);
  expect(known.map(({ row }) => row)).toEqual([[1], [2]]);
  node.opened = tables;
  await node.minute([3]);
  expect([
    ...tables.minutes({ series: destination, from: start, to: node.now, unwritten: [] }).values(),
  ]).toEqual([[1], [2], [3]]);
  node.opened = undefined;
  for (let n = 4; n < 12; n += 1) await node.minute([n]);
  node.opened = tables;
  await node.minute([12]);
  const range = { from: start, to: node.now, stepMs: MINUTE_MS };
  const points = readPoints(tables, destination, range, []);
  const gaps = points.filter(({ recordedSeconds }) => recordedSeconds === 0).map(({ at }) => at);
  expect(gaps.map((at) => (at - start) / MINUTE_MS)).toEqual([3, 4, 5]);
  expect(
    points.filter(({ recordedSeconds, row }) => recordedSeconds === 0 && row.length > 0),
  ).toEqual([]);
});

test("hours are packed without changing an answer, and old rows go in steps", async () => {
  const { store, tables } = openFigures(directory());
  const sizes = (name: string) => store.table<unknown, string>(name).getKeysCount();
  const rowAt = (minute: number): FigureRow =>
    rowOf([minute % 7, 1, 0, minute % 2, 0], { events: minute % 5, seconds: 1 });
  for (let minute = 0; minute < 180; minute += 1) {
    const at = start + minute * MINUTE_MS;
    for (const recorder of ["a", "b"]) {
      const series = minute % 60 < 3 ? [destination, seriesOf("source", "s1")] : [destination];
      await tables.write(series.map((it) => ({ series: it, at, recorder, row: rowAt(minute) })));
    }
  }
  const minutes = () =>
    tables.minutes({ series: destination, from: start, to: start + 3 * HOUR_MS, unwritten: [] });
  const hours = () =>
    tables.hours({ series: destination, from: start, to: start + 3 * HOUR_MS, unwritten: [] });
  const before = { minutes: minutes(), hours: hours() };
  expect(before.minutes.get(start + 9 * MINUTE_MS)).toEqual([4, 2, 0, 2, 0, 8, 1]);
  expect(before.hours.get(start)![LAG_EVENTS]).toBe(8);
  await tables.tidy(start + 2 * HOUR_MS + 11 * MINUTE_MS);
  expect(sizes("minutes")).toBe(2 * (60 + 3));
  expect(sizes("hours")).toBe(4);
  expect(sizes("days")).toBe(2);
  expect({ minutes: minutes(), hours: hours() }).toEqual(before);
  // A late row of a packed hour is added to it.
  const late = { series: destination, at: start, recorder: "c", row: [100] };
  await tables.write([late]);
  await tables.tidy(start + 2 * HOUR_MS + 11 * MINUTE_MS);
  expect(minutes().get(start)![RECEIVED]).toBe(100);
  expect(hours().get(start)![RECEIVED]).toBe(before.hours.get(start)![RECEIVED]! + 100);
  for (let step = 0; step < 3; step += 1) await tables.tidy(start + 30 * HOUR_MS);
  expect([sizes("minutes"), sizes("hours")]).toEqual([0, 0]);
  expect(hours().get(start + HOUR_MS)).toEqual(before.hours.get(start + HOUR_MS));
  for (let step = 0; step < 3; step += 1) await tables.tidy(start + 40 * DAY_MS);
  expect(sizes("days")).toBe(0);
});

test("one step writes and packs a bounded number of rows, whatever has gathered", async () => {
  const { store, tables } = openFigures(directory());
  const series = Array.from({ length: 1_500 }, (_, n) => seriesOf("destination", `d${n}`));
  await tables.write(series.map((it) => ({ series: it, at: start, recorder: "a", row: [1] })));
  const left = () => store.table<unknown, string>("minutes").getKeysCount();
  await tables.tidy(start + 2 * HOUR_MS);
  expect(left()).toBe(500);
  await tables.tidy(start + 2 * HOUR_MS);
  expect(left()).toBe(0);
});

test("all nodes of a cluster read the same figures, and a node that died keeps its own", async () => {
  const log = new MemoryLog({ delayMs: () => 0 });
  const one = new Node(openFigures(directory(), log).tables, 0.75);
  const other = new Node(openFigures(directory(), log).tables, 0.25);
  other.lag = new Map([[destination, rowOf([], { events: 3, seconds: 9 })]]);
  one.lag = new Map([[destination, rowOf([], { events: 4, seconds: 2 })]]);
  await Promise.all([one.minute([5, 5]), other.minute([2])]);
  await one.minute([1]);
  const third = openFigures(directory(), log);
  for (const { opened } of [one, other]) {
    await opened!.tidy(start + MINUTE_MS);
  }
  await third.store.catchUp();
  const range = { from: start, to: start + 2 * MINUTE_MS, stepMs: MINUTE_MS };
  const [first, second] = readPoints(third.tables, destination, range, []);
  expect(first).toEqual({ at: start, recordedSeconds: 60, row: [7, 5, 0, 0, 0, 7, 9] });
  // The other node died: three quarters of the partitions were recorded.
  expect(second).toMatchObject({ recordedSeconds: 45 });
  expect(readPoints(one.opened, destination, range, [])).toEqual([first!, second!]);
  // Both nodes pack at once, and each hour is packed once.
  const later = start + 2 * HOUR_MS;
  await Promise.all([one.opened!.tidy(later), other.opened!.tidy(later)]);
  await third.store.catchUp();
  expect(readPoints(third.tables, destination, range, [])).toEqual([first!, second!]);
  expect(third.store.table<unknown, string>("minutes").getKeysCount()).toBe(0);
});

test("the rows of all nodes add up also while the store cannot be opened", () => {
  const rowOfNode = (recorder: string, minute: number, row: FigureRow): NodeRow => {
    return { series: destination, at: start + minute * MINUTE_MS, recorder, row };
  };
  const lag = { events: 4, seconds: 2 };
  const rows = [
    rowOfNode("a", 0, rowOf([5, 5], lag)),
    rowOfNode("b", 0, rowOf([2], { events: 3, seconds: 9 })),
    // A clock that was set back makes a node count a minute again.
    rowOfNode("a", 1, rowOf([9], lag)),
    rowOfNode("a", 1, rowOf([1], lag)),
    { ...rowOfNode("a", 0, [60]), series: RECORDED },
  ];
  const pointsOf = (stepMs: number) => {
    const range = { from: start, to: start + HOUR_MS, stepMs };
    return readPoints(undefined, destination, range, rows);
  };
  expect(pointsOf(MINUTE_MS).slice(0, 2)).toEqual([
    { at: start, recordedSeconds: 60, row: [7, 5, 0, 0, 0, 7, 9] },
    { at: start + MINUTE_MS, recordedSeconds: 0, row: [1, 0, 0, 0, 0, 4, 2] },
  ]);
  expect(pointsOf(HOUR_MS)).toEqual([
    { at: start, recordedSeconds: 60, row: [8, 5, 0, 0, 0, 7, 9] },
  ]);
  const totals = readTotals(undefined, destination, start + MINUTE_MS, rows);
  expect([totals.minute, totals.day]).toEqual([
    [7, 5, 0, 0, 0, 7, 9],
    [8, 5, 0, 0, 0],
  ]);
  expect(totals.lastReceivedAt).toBe(start + MINUTE_MS);
});

test("rows of nodes merge in any order, and quantiles are those of all latencies", () => {
  const ring = (ms: number[]) => {
    const counters = new Uint32Array(5 + 28);
    for (const it of ms) counters[latencyCounter(it)]! += 1;
    return rowOf(counters, { events: ms.length, seconds: ms.length });
  };
  const [a, b] = [ring([1, 10, 10]), ring([10, 900])];
  const both = ring([1, 10, 10, 10, 900]);
  expect(mergeNodes(a, b)).toEqual(mergeNodes(b, a));
  expect(mergeNodes(a, b).slice(7)).toEqual(both.slice(7));
  expect(mergeTimes(a, b)[LAG_EVENTS]).toBe(3);
  expect(mergeNodes(a, b)[LAG_EVENTS]).toBe(5);
  expect(latencies(both)).toBe(5);
  expect(latencyQuantile(both, 0.5)).toBe(11);
  expect(latencyQuantile([1, 1], 0.5)).toBeUndefined();
});

test("totals have the last whole minute, a day, a month, and when the last event came", async () => {
  const { tables } = openFigures(directory());
  const put = (ago: number, row: FigureRow) =>
    tables.write([{ series: destination, at: start - ago, recorder: "a", row }]);
  expect(readTotals(tables, destination, start, []).lastReceivedAt).toBeUndefined();
  await put(3 * DAY_MS, [100]);
  const old = readTotals(tables, destination, start, []);
  expect([old.minute, old.day, old.month]).toEqual([[], [0, 0, 0, 0, 0], [100, 0, 0, 0, 0]]);
  expect(old.lastReceivedAt).toBe(start - 3 * DAY_MS);
  await put(90 * MINUTE_MS, [10]);
  await put(MINUTE_MS, [0, 3]);
  const now = { series: destination, at: start, recorder: "b", row: [1] };
  const totals = readTotals(tables, destination, start + 30_000, [now]);
  expect(totals.minute).toEqual([0, 3]);
  expect(totals.day).toEqual([11, 3, 0, 0, 0]);
  expect(totals.month).toEqual([111, 3, 0, 0, 0]);
  expect(totals.lastReceivedAt).toBe(start);
  expect(readTotals(tables, destination, start, []).lastReceivedAt).toBe(start - 90 * MINUTE_MS);
});

test("counters of many sources are bounded, and idle ones make room", () => {
  const counters = new MinuteCounters(2);
  counters.add("a", start, RECEIVED, 1);
  counters.add("b", start, RECEIVED, 1);
  counters.add("c", start, RECEIVED, 1);
  expect([...counters.rows(start)].map(([id]) => id)).toEqual(["a", "b"]);
  const later = start + 10 * MINUTE_MS;
  counters.add("b", later, RECEIVED, 1);
  counters.add("c", later, RECEIVED, 2);
  expect([...counters.rows(later)]).toEqual([
    ["b", [1]],
    ["c", [2]],
  ]);
});

test("counters of before the clock was set back make room", () => {
  const counters = new MinuteCounters(2);
  for (const id of ["a", "b"]) counters.add(id, start, RECEIVED, 1);
  const earlier = start - 60 * MINUTE_MS;
  counters.add("b", earlier, RECEIVED, 2);
  counters.add("c", earlier, RECEIVED, 3);
  expect([...counters.rows(earlier)]).toEqual([
    ["b", [2]],
    ["c", [3]],
  ]);
});

test("rows of a series never mix with those of another whose id begins with the same letters", async () => {
  const { tables } = openFigures(directory());
  const series = ["d1", "d12", "d1a", RECORDED];
  for (const [n, it] of series.entries()) {
    await tables.write([{ series: it, at: start, recorder: "a", row: [n + 1] }]);
  }
  await tables.tidy(start + 2 * HOUR_MS);
  for (const [n, it] of series.entries()) {
    expect([
      ...tables.minutes({ series: it, from: start, to: start + HOUR_MS, unwritten: [] }).values(),
    ]).toEqual([[n + 1]]);
  }
});

test("series have the keys under which figures are stored", () => {
  const keys = seriesKinds.map((kind) => seriesOf(kind, "1"));
  expect([...keys, RECORDED]).toEqual(["w1", "s1", "t1", "d1", "c1", "r"]);
  expect(connectionSeries({ sourceId: "a", destinationId: "b" })).toBe("cba");
});
