import { expect, test } from "bun:test";
import { TimeSlicer } from "../../src/concurrency/time-slicer.ts";
import type { LogReader } from "../../src/log/event-log.ts";
import { ReverseScan } from "../../src/pipeline/search/reverse-scan.ts";
import { numbersTo } from "./rig.ts";

const { signal } = new AbortController();

/**
 * A scan of a log whose record `n` has the time 100 + `n` in its first byte, and as many bytes as
 * `bytesOf` says. Records in `wanted` match.
 */
function scanOf(
  count: number,
  { wanted = [] as number[], low = 0, high = count, countMax = 100, bytes = 1, first = 0 } = {},
) {
  const state = { first, reads: [] as number[] };
  const reader = {
    first: () => state.first,
    async read(at: number, bytesMax: number) {
      state.reads.push(at);
      const records: { sequence: number; bytes: Uint8Array }[] = [];
      let next = at;
      for (let size = 0; next < count && size < bytesMax; next++, size += bytes) {
        const record = new Uint8Array(bytes);
        new DataView(record.buffer).setUint8(0, next);
        records.push({ sequence: next, bytes: record });
      }
      return { records, next };
    },
  } as unknown as LogReader;
  const numberOf = (record: Uint8Array) => record[0]!;
  const scan = new ReverseScan({
    ...{ log: "a", reader, range: { low, high }, countMax, slicer: new TimeSlicer() },
    isWanted: (record) => wanted.includes(numberOf(record)),
    timeOf: (record) => 100 + numberOf(record),
  });
  const found = () => {
    const all: number[] = [];
    for (let hit = scan.head; hit !== undefined; hit = scan.head) {
      expect([hit.time, hit.record[0]]).toEqual([100 + hit.sequence, hit.sequence]);
      all.push(hit.sequence);
      scan.take();
    }
    return all;
  };
  return { scan, state, found };
}

test("a scan finds what it wants within its range, the newest first", async () => {
  const { scan, found } = scanOf(20, { wanted: [1, 4, 9, 15, 19], low: 4, high: 15 });
  expect([scan.log, scan.isDone, scan.head, scan.rest]).toEqual(["a", false, undefined, 15]);
  expect([scan.reachedAt, scan.bytes]).toEqual([Number.POSITIVE_INFINITY, 0]);
  await scan.step(signal);
  expect([scan.isDone, scan.reachedAt, scan.bytes]).toEqual([true, 104, 11]);
  expect(scan.rest).toBe(10);
  expect(found()).toEqual([9, 4]);
  expect(scan.rest).toBeUndefined();
});

test("a scan of an empty range is done", () => {
  expect(scanOf(20, { low: 5, high: 5 }).scan.isDone).toBe(true);
  expect(scanOf(20, { low: 5, high: 6 }).scan.isDone).toBe(false);
  expect(scanOf(20, { low: 0, high: 6, first: 6 }).scan.isDone).toBe(true);
});

test("a scan keeps the newest matches of a step, and finds the others in the next one", async () => {
  const { scan, found, state } = scanOf(20, { wanted: numbersTo(20), countMax: 6 });
  await scan.step(signal);
  expect([scan.isDone, scan.reachedAt]).toEqual([false, 114]);
  expect(found()).toEqual([19, 18, 17, 16, 15, 14]);
  expect(scan.rest).toBe(14);
  await scan.step(signal);
  expect(found()).toEqual([13, 12, 11, 10, 9, 8]);
  // Records that were deleted meanwhile are not waited for.
  state.first = 8;
  expect([scan.isDone, scan.rest]).toEqual([true, undefined]);
});

test("a step that would read too many bytes is made again with an eighth of its records", async () => {
  const bytes = 768 << 10;
  const { scan, state, found } = scanOf(40, { wanted: [39, 0], bytes });
  await scan.step(signal);
  // Six records have more than 4 MiB.
  expect([scan.bytes, scan.head, scan.rest]).toEqual([6 * bytes, undefined, 40]);
  expect(state.reads).toEqual([0, 1, 2, 3, 4, 5]);
  state.reads.length = 0;
  await scan.step(signal);
  expect(state.reads).toEqual([35, 36, 37, 38, 39]);
  expect([scan.bytes, found()]).toEqual([11 * bytes, [39]]);
});

test("a record is scanned whatever its size", async () => {
  const { scan, found } = scanOf(2, { wanted: [1], low: 1, bytes: 5 << 20 });
  await scan.step(signal);
  expect([found(), scan.isDone, scan.bytes]).toEqual([[1], true, 5 << 20]);
});

test("a log that gives nothing more ends a step", async () => {
  const { scan, found } = scanOf(5, { wanted: [4], high: 9 });
  await scan.step(signal);
  expect([found(), scan.isDone]).toEqual([[4], true]);
});

test("a scan ends when it is aborted", async () => {
  const { scan } = scanOf(5);
  await expect(scan.step(AbortSignal.abort(new Error("Left")))).rejects.toThrow("Left");
});
