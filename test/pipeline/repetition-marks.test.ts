import { expect, test } from "bun:test";
import type { LogReader } from "../../src/log/event-log.ts";
import type { RepetitionLot, RepetitionRow } from "../../src/pipeline/ledger/repetition-table.ts";
import { keyOfLot, RepetitionMarks } from "../../src/pipeline/repetitions/repetition-marks.ts";
import { SearchStart, type SearchStartParts } from "../../src/pipeline/repetitions/search-start.ts";

const row = (at: number): RepetitionRow => [at, "1", at - 1, 10 * at];
const lot = (log: string, ...at: number[]): RepetitionLot => ({ log, rows: at.map(row) });

test("a marked record repeats the occurrence of its row, until its lot is removed", () => {
  const marks = new RepetitionMarks();
  const [a, b] = [lot("0", 3, 5), lot("0", 8)];
  for (const it of [a, b, lot("2", 5)]) marks.add(it);
  expect(marks.get("0", 5)).toEqual({ log: "1", sequence: 4, receivedAt: 50 });
  expect([marks.get("0", 4), marks.get("9", 5)]).toEqual([undefined, undefined]);
  marks.remove([]);
  marks.remove([a]);
  expect([marks.get("0", 3), marks.get("0", 5)]).toEqual([undefined, undefined]);
  expect([marks.get("0", 8)?.sequence, marks.get("2", 5)?.sequence]).toEqual([7, 4]);
  expect(keyOfLot(a)).toEqual(["0", 3]);
});

test("lots whose records are all gone from the log are surplus, and the oldest beyond a number", () => {
  const marks = new RepetitionMarks();
  const lots = [lot("0", 1, 2), lot("2", 1), lot("0", 7, 8), lot("0", 9)];
  for (const it of lots) marks.add(it);
  const firstOf = (first: number) => (log: string) => (log === "0" ? first : 0);
  expect([marks.hasBefore(firstOf(2)), marks.hasBefore(firstOf(3))]).toEqual([false, true]);
  expect(marks.surplus([], 6, firstOf(2))).toEqual([]);
  expect(marks.surplus([], 6, firstOf(9))).toEqual([lots[0]!, lots[2]!]);
  // Six are known, and two are added.
  const added = [lot("0", 20, 21)];
  expect(marks.surplus(added, 8, firstOf(0))).toEqual([]);
  expect(marks.surplus(added, 7, firstOf(0))).toEqual([lots[0]!]);
  expect(marks.surplus(added, 5, firstOf(0))).toEqual([lots[0]!, lots[1]!]);
  marks.remove([lots[0]!, lots[1]!]);
  expect(marks.surplus(added, 5, firstOf(0))).toEqual([]);
  expect(marks.surplus(added, 4, firstOf(0))).toEqual([lots[2]!]);
});

/** A log with a record each second, in parts of ten records; the record is its own time. */
function readerOf(first: number, end: number, partBytes: (first: number) => number): LogReader {
  const starts = Array.from({ length: Math.ceil((end - first) / 10) }, (_, n) => first + 10 * n);
  return {
    first: () => first,
    end: () => end,
    parts: () => starts.map((at) => ({ first: at, bytes: partBytes(at) })),
    async read(position: number) {
      const last = Math.min(end, Math.max(position, first) + 5);
      const from = Math.max(position, first);
      const records = Array.from({ length: Math.max(0, last - from) }, (_, n) => ({
        sequence: from + n,
        bytes: new Uint8Array([from + n]),
      }));
      return { records, next: Math.max(position, last) };
    },
  } as unknown as LogReader;
}

function startOf(readers: Record<string, LogReader>, more: Record<string, any> = {}) {
  const { stored = {}, lanes = [], seconds = 30, now = 100_000, readBytesMax } = more;
  return new SearchStart({
    readers: new Map(Object.entries(readers)),
    ledger: { repetitions: { positions: () => stored }, lanes: () => lanes },
    live: { longestDedupSeconds: () => seconds },
    clock: { now: () => now },
    timeOf: ([second]: Uint8Array) => 1_000 * second!,
    ...(readBytesMax && { readBytesMax }),
  } as unknown as SearchStartParts);
}

test("a search begins at most a number of bytes before the end, and at least with the last part", () => {
  const reader = readerOf(0, 100, () => 10);
  for (const [readBytesMax, first] of [
    [1, 90],
    [10, 90],
    [19, 90],
    [20, 80],
    [1_000, 0],
  ]) {
    expect([readBytesMax, startOf({}, { readBytesMax }).firstOf(reader)]).toEqual([
      readBytesMax,
      first,
    ]);
  }
  // The last part may have nothing yet.
  const empty = readerOf(0, 100, (at) => (at === 90 ? 0 : 10));
  expect(startOf({}, { readBytesMax: 1 }).firstOf(empty)).toBe(80);
  expect(startOf({}).firstOf(readerOf(40, 40, () => 0))).toBe(40);
});

test("a search continues where it was stored, or before all that a lane or the window needs", async () => {
  const reader = readerOf(0, 100, () => 10);
  const lane = (next: number, ...pending: number[]) => ({ logs: { "0": { next, pending } } });
  const first = (more: Record<string, unknown>, from?: number) =>
    startOf({ "0": reader }, more).firstUnsearched("0", reader, from);
  expect(await first({ stored: { "0": 42 } }, 7)).toBe(42);
  expect(await first({ stored: { "0": 42 }, readBytesMax: 20 })).toBe(80);
  expect(await first({ stored: { "1": 42 } })).toBe(70);
  expect(await first({}, 65)).toBe(65);
  expect(await first({ lanes: [lane(90), lane(66)] })).toBe(66);
  expect(
    await first({ lanes: [lane(90, 88, 61), { logs: { "1": { next: 3, pending: [] } } }] }),
  ).toBe(61);
  expect(await first({ seconds: 0, now: 200_000 })).toBe(100);
  expect(await first({ readBytesMax: 10 }, 5)).toBe(90);
});

test("ids are needed from the window before the oldest record of any log that was not searched", async () => {
  const [a, b] = [readerOf(0, 100, () => 10), readerOf(0, 100, () => 10)];
  const needed = (more: object, unsearched = 95) =>
    startOf({ "0": a, "1": b }, { seconds: 20, ...more }).firstNeeded(a, unsearched);
  expect(await needed({ stored: { "0": 95, "1": 90 } })).toBe(70);
  expect(await needed({ stored: { "0": 95, "1": 99 } })).toBe(75);
  expect(await needed({ stored: { "0": 95, "1": 99 } }, 60)).toBe(40);
  // Nothing is left to search: the window before now.
  expect(await needed({ stored: { "0": 100, "1": 100 } }, 100)).toBe(80);
  expect(await needed({ stored: { "0": 95, "1": 90 }, readBytesMax: 20 })).toBe(80);
});

test("the oldest record is looked for again after a failure, and else once", async () => {
  const reader = readerOf(0, 100, () => 10);
  let reads = 0;
  let isBroken = true;
  const other = {
    ...reader,
    read(position: number, bytes: number) {
      reads += 1;
      if (isBroken) throw new Error("The log cannot be read");
      return reader.read(position, bytes);
    },
  };
  const start = startOf({ "1": other as LogReader }, { stored: { "1": 90 } });
  await expect(start.firstNeeded(reader, 95)).rejects.toThrow("The log cannot be read");
  isBroken = false;
  expect(await start.firstNeeded(reader, 95)).toBe(60);
  const before = reads;
  expect(await start.firstNeeded(reader, 95)).toBe(60);
  expect(reads).toBe(before);
});
