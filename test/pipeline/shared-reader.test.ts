import { describe, expect, test } from "bun:test";
import { Registry } from "prom-client";
import { eventOf } from "../../src/event/event.ts";
import { readRecord } from "../../src/event/record.ts";
import { createLaneMetrics } from "../../src/pipeline/monitoring/metrics.ts";
import { HeldRecords, newerVersionWarning } from "../../src/pipeline/reading/held-records.ts";
import {
  firstAtOrAfter,
  type LogChunk,
  SharedReader,
  type SharedReaderParts,
} from "../../src/pipeline/reading/shared-reader.ts";
import { listeningLogger } from "../log/support.ts";
import { MemoryLog } from "./doubles.ts";
import { sdkRecord } from "./repetitions-rig.ts";
import { numbersTo } from "./rig.ts";

const known = (n: number, over = {}) => sdkRecord(n, `id ${n}`, over);

/** A record as a newer version writes it. */
function newer(n: number): Buffer {
  const bytes = Buffer.from(known(n));
  bytes[0] = 5;
  return bytes;
}

/** A reader of the logs "a" and "b", the second of which is empty. */
function setUp(records: readonly Uint8Array[], over: Partial<SharedReaderParts> = {}) {
  const [log, other] = [new MemoryLog("a"), new MemoryLog("b")];
  if (records.length > 0) log.appendBytes(...records);
  const { logger, lines } = listeningLogger();
  const registry = new Registry();
  const none = () => [];
  const gauges = { lanes: none, deadLetters: none, heldBytes: () => 0, heldLogs: none };
  const metrics = createLaneMetrics(registry, gauges);
  const readers = new Map([
    ["a", log],
    ["b", other],
  ]);
  const shared = new SharedReader({
    ...{ readers, decode: readRecord, eventOf, logger, metrics },
    ...over,
  });
  const subset: SharedReader["subset"] = (...asked) => shared.subset(...asked);
  const reader = { ...subset(readers), ends: () => shared.ends(), subset };
  const unreadable = async () => {
    const shown = await registry.getSingleMetricAsString("pixelmill_log_unreadable_records_total");
    return shown.split("\n").filter((line) => line.startsWith("pixelmill"));
  };
  return { reader, log, other, readers, lines, unreadable };
}

const sequences = (chunk: LogChunk | undefined) => chunk?.inputs.map(({ sequence }) => sequence);

describe("a read of a log", () => {
  test("has the records from its position on, and their sources", async () => {
    const { reader, log } = setUp([known(0), known(1, { sourceId: "t" }), known(2)]);
    const chunk = await reader.read("a", 1);
    expect(chunk).toMatchObject({ from: 1, next: 3, newerAt: undefined });
    expect(sequences(chunk)).toEqual([1, 2]);
    expect([...chunk!.sources]).toEqual(["t", "source"]);
    expect(await reader.read("a", 3)).toBeUndefined();
    expect(await reader.read("b", 0)).toBeUndefined();
    expect(await reader.read("unknown", 0)).toBeUndefined();
    log.appendBytes(known(3));
    expect(sequences(await reader.read("a", 3))).toEqual([3]);
  });

  test("is kept for each position in it", async () => {
    const { reader, log } = setUp(numbersTo(4).map((n) => known(n)));
    let reads = 0;
    const { read } = log;
    log.read = (...args) => {
      reads += 1;
      return read.apply(log, args);
    };
    const chunk = await reader.read("a", 1);
    expect(await reader.read("a", 3)).toBe(chunk!);
    expect(reads).toBe(1);
    // Positions before it and behind it are others.
    expect(sequences(await reader.read("a", 0))).toEqual([0, 1, 2, 3]);
    log.appendBytes(known(4));
    expect(sequences(await reader.read("a", 4))).toEqual([4]);
    expect(reads).toBe(3);
  });

  test("fails for all who wait for it, and is then made again", async () => {
    const { reader, log } = setUp([known(0)]);
    const { read } = log;
    log.read = () => Promise.reject(new Error("The disk failed"));
    const both = await Promise.allSettled([reader.read("a", 0), reader.read("a", 0)]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    log.read = read;
    expect(sequences(await reader.read("a", 0))).toEqual([0]);
  });

  test("passes refused and damaged records, and counts and logs those that are damaged", async () => {
    const damaged = known(1).subarray(0, 20);
    const records = [known(0, { refused: "No consent" }), damaged, known(2)];
    const { reader, lines, unreadable } = setUp(records);
    const chunk = await reader.read("a", 0);
    expect(chunk).toMatchObject({ from: 0, next: 3, newerAt: undefined });
    expect(sequences(chunk)).toEqual([2]);
    expect(lines).toMatchObject([{ log: "a", sequence: 1, msg: "cannot decode a record" }]);
    expect(await unreadable()).toEqual(['pixelmill_log_unreadable_records_total{log="a"} 1']);
  });

  test("ends before a record of a newer version, and a read at that record returns it again", async () => {
    const { reader } = setUp([known(0), newer(1), known(2)]);
    const chunk = await reader.read("a", 0);
    expect(chunk).toMatchObject({ from: 0, next: 1, newerAt: 1_000_001 });
    expect(sequences(chunk)).toEqual([0]);
    expect(await reader.read("a", 1)).toBe(chunk!);
    expect(await reader.read("a", 2)).toMatchObject({ from: 2, next: 3, newerAt: undefined });
  });

  test("passes a record of a newer version that stands before its position in the same block", async () => {
    const { reader, log } = setUp([newer(0), known(1)]);
    const { read } = log;
    log.read = (_, bytesMax) => read.call(log, 0, bytesMax);
    const chunk = await reader.read("a", 1);
    expect(chunk).toMatchObject({ from: 1, next: 2, newerAt: undefined });
    expect(sequences(chunk)).toEqual([1]);
  });
});

test("an event that cannot be built has no size, and is counted and logged", async () => {
  const fail = () => {
    throw new Error("A fault");
  };
  const { reader, lines, unreadable } = setUp([known(0)], { eventOf: fail });
  const chunk = await reader.read("a", 0);
  expect(reader.sizeOf("a", chunk!.inputs[0]!)).toBeUndefined();
  expect(lines).toMatchObject([{ log: "a", sequence: 0, err: { message: "A fault" } }]);
  expect(await unreadable()).toEqual(['pixelmill_log_unreadable_records_total{log="a"} 1']);
  const other = setUp([known(0)]);
  const [input] = (await other.reader.read("a", 0))!.inputs;
  expect(other.reader.sizeOf("a", input!)).toBe(input!.event.json.length);
  expect(other.reader.previousOf("a", 0)).toBeUndefined();
});

test("the bounds of logs are those of their readers, and 0 of unknown ones", async () => {
  const { reader, log } = setUp(numbersTo(5).map((n) => known(n)));
  await log.trim(2);
  expect(reader.names()).toEqual(["a", "b"]);
  expect(reader.ends()).toEqual({ a: 5, b: 0 });
  const boundsOf = (name: string) => [
    ...[reader.first(name), reader.end(name), reader.countBetween(name, 1, 4)],
  ];
  expect(boundsOf("a")).toEqual([2, 5, 3]);
  expect(boundsOf("unknown")).toEqual([0, 0, 0]);
});

test("the announced end of a log is within it, and may stop at a record of a newer version", () => {
  const { reader } = setUp([known(0), newer(1)]);
  expect([reader.announcedEnd("a"), reader.heldSince("a")]).toEqual([0, undefined]);
  expect(() => reader.setAnnouncedEnd("a", 3)).toThrow("An announced end is at or below");
  reader.setAnnouncedEnd("a", 1, 70);
  expect([reader.announcedEnd("a"), reader.heldSince("a")]).toEqual([1, 70]);
  expect(reader.heldSince("b")).toBeUndefined();
  reader.setAnnouncedEnd("a", 2);
  expect([reader.announcedEnd("a"), reader.heldSince("a")]).toEqual([2, undefined]);
});

test("a view has some logs alone, and tells of records of newer versions", async () => {
  const { reader, readers } = setUp([known(0), newer(1)]);
  const held: unknown[] = [];
  const some = new Map([["a", readers.get("a")!]]);
  const view = reader.subset(some, undefined, { note: (...args) => void held.push(args) });
  expect(view.names()).toEqual(["a"]);
  view.setAnnouncedEnd("a", 1, 70);
  expect([reader.announcedEnd("a"), reader.heldSince("a")]).toEqual([1, 70]);
  expect([view.announcedEnd("a"), view.heldSince("a")]).toEqual([1, 70]);
  expect([view.first("a"), view.end("a"), view.countBetween("a", 0, 2)]).toEqual([0, 2, 2]);
  const chunk = await view.read("a", 0);
  expect(chunk).toBe((await reader.read("a", 0))!);
  expect(held).toEqual([["a", 1]]);
  expect(view.sizeOf("a", chunk!.inputs[0]!)).toBe(chunk!.inputs[0]!.event.json.length);
  expect(view.previousOf("a", 0)).toBeUndefined();
  expect(await view.read("a", 2)).toBeUndefined();
  expect(held).toHaveLength(1);
});

test("a view that finds repetitions has read only when these are found", async () => {
  const { reader, readers } = setUp([known(0)]);
  const searched = Promise.withResolvers<void>();
  const asked: unknown[] = [];
  const previous = { log: "b", sequence: 7, receivedAt: 1 };
  const view = reader.subset(readers, {
    search(log, chunk) {
      asked.push([log, chunk.next]);
      return searched.promise;
    },
    previousOf: (log, sequence) => (log === "a" && sequence === 3 ? previous : undefined),
  });
  let isRead = false;
  const read = view.read("a", 0).then(() => {
    isRead = true;
  });
  await reader.read("a", 0);
  await Bun.sleep(0);
  expect([asked, isRead]).toEqual([[["a", 1]], false]);
  searched.resolve();
  await read;
  expect(await view.read("a", 1)).toBeUndefined();
  expect(asked).toHaveLength(1);
  expect([view.previousOf("a", 3), view.previousOf("a", 4)]).toEqual([previous, undefined]);
});

test("the first record at or after a sequence number is found in all lists", () => {
  for (let count = 0; count < 9; count++) {
    const list = numbersTo(count).map((n) => ({ sequence: 3 * n + 1 }));
    for (let sequence = 0; sequence < 30; sequence++) {
      const expected = list.filter((it) => it.sequence < sequence).length;
      expect([count, sequence, firstAtOrAfter(list, sequence)]).toEqual([
        ...[count, sequence, expected],
      ]);
    }
  }
});

test("deliveries wait in the logs whose furthest record of a newer version one has not passed", () => {
  const held = new HeldRecords();
  held.note("a", 7);
  held.note("a", 5);
  held.note("b", 0);
  const lows = (a: number | undefined, b: number | undefined) => (log: string) =>
    log === "a" ? a : b;
  expect(held.logsAbove(lows(7, 0))).toEqual(["a", "b"]);
  expect(held.logsAbove(lows(8, 1))).toEqual([]);
  expect(held.logsAbove(lows(6, undefined))).toEqual(["a"]);
});

test("the warning of a newer version names the logs, and comes only with some", () => {
  expect(newerVersionWarning([])).toEqual([]);
  const [one, ...more] = newerVersionWarning(["3"]);
  expect([one?.includes("stored in the event log 3: start"), more]).toEqual([true, []]);
  expect(newerVersionWarning(["3", "k1"])).toEqual([
    expect.stringContaining("stored in the event logs 3, k1: start"),
  ]);
});
