import { afterEach, beforeEach, expect, mock, spyOn, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { Registry } from "prom-client";
import { blockAt, RECORD_HEADER_BYTES } from "../../src/log/block.ts";
import type { Gap } from "../../src/log/loss-report.ts";
import { LossReport } from "../../src/log/loss-report.ts";
import { openLogReader } from "../../src/log/reader.ts";
import { recordRefused } from "../../src/log/refused-records.ts";
import { listSegments, type Segment } from "../../src/log/segment/segments.ts";
import { openLogWriter } from "../../src/log/writer.ts";
import {
  appendEach,
  failReads,
  healReads,
  listeningLogger,
  metricValue,
  openTextWriter,
  quiet,
  readAll,
  temporaryDirectory,
  textCodec,
  texts,
  until,
} from "./support.ts";

const sleep = Bun.sleep;
/** The pause before a place is read again. */
const RETRY_MS = 1_000;
beforeEach(() => {
  spyOn(Bun, "sleep").mockImplementation((ms) => sleep(ms === RETRY_MS ? 0 : ms));
});
afterEach(() => {
  mock.restore();
  healReads();
});

/** Lets reads of these bytes of some files fail, as bad sectors do. */
function breakSectors(paths: string[], from: number, to: number): void {
  failReads((path, start, end) => {
    return paths.includes(path) && start < to && end > from ? "EIO" : undefined;
  });
}

test("numbers continue at a reader's position, and the loss is reported once", async () => {
  const directory = temporaryDirectory();
  const before = await openTextWriter(directory);
  await appendEach(before, texts(5));
  await before.close();
  const gaps: Gap[] = [];
  const writer = await openLogWriter({
    ...{ directory, codec: textCodec, logger: quiet, first: 12 },
    onMissing: (gap) => void gaps.push(gap),
  });
  expect(gaps).toEqual([{ from: 5, to: 12 }]);
  expect(writer.durable()).toBe(12);
  await writer.append("after");

  const { logger, lines } = listeningLogger();
  const metrics = new Registry();
  const losses = new LossReport({ logger, metrics });
  losses.missing(directory, gaps[0]!, 7);
  const reader = await openLogReader({ directory, losses });
  reader.advance(writer.durable());
  for (const from of [0, 8]) {
    const read = (await readAll(reader, from)).map(([sequence]) => sequence);
    expect(read).toEqual([0, 1, 2, 3, 4, 12].filter((sequence) => sequence >= from));
  }
  await writer.close();
  expect(lines.map(({ msg }) => msg)).toEqual(["records are missing from the event log"]);
  expect(await metricValue(metrics, "pixelmill_log_missing_records_total")).toBe(7);
  expect(losses.warnings()).toEqual([
    `Event log ${directory.split("/").at(-1)}: 7 records are missing`,
  ]);
});

test("refused numbers are not reported as missing, the numbers around them are", async () => {
  const directory = temporaryDirectory();
  const before = await openTextWriter(directory);
  await appendEach(before, texts(2));
  await before.close();
  recordRefused(directory, { from: 2, to: 4 });
  recordRefused(directory, { from: 6, to: 7 });
  const writer = await openLogWriter({ directory, codec: textCodec, logger: quiet, first: 10 });
  await writer.append("first");
  const { logger, lines } = listeningLogger();
  const reader = await openLogReader({ directory, losses: new LossReport({ logger }) });
  reader.advance(writer.durable());
  expect((await reader.read(2, 1)).records.map(({ sequence }) => sequence)).toEqual([10]);
  expect(lines).toMatchObject([{ from: 2, to: 10, missingRecords: 5 }]);
  await writer.close();
});

test("a bad sector is passed over, counted and reported, and the records around it are read", async () => {
  const directory = temporaryDirectory();
  const writer = await openTextWriter(directory);
  await appendEach(writer, texts(40, "x".repeat(1_000)));
  await writer.close();
  const [segment] = listSegments(directory);
  const { logger } = listeningLogger();
  const metrics = new Registry();
  const losses = new LossReport({ logger, metrics });
  const reader = await openLogReader({ directory, losses });
  reader.advance(40);
  breakSectors([segment!.path], 8_192, 12_288);
  const read = (await readAll(reader)).map(([sequence]) => sequence);
  expect(read.length).toBeGreaterThanOrEqual(34);
  expect(read.length).toBeLessThan(40);
  expect([read[0], read.at(-1)]).toEqual([0, 39]);
  expect(await metricValue(metrics, "pixelmill_log_missing_records_total")).toBe(40 - read.length);
  expect(losses.warnings()[0]).toMatch(/records are missing, \d+ bytes are damaged$/);
}, 300_000);

test("a bad end of a segment is passed over if the next segment can be read", async () => {
  const directory = temporaryDirectory();
  const writer = await openTextWriter(directory, { segmentBytesMax: 20_000 });
  await appendEach(writer, texts(40, "x".repeat(1_000)));
  await writer.close();
  const [segment, next] = listSegments(directory);
  const reader = await openLogReader({ directory, losses: new LossReport({ logger: quiet }) });
  reader.advance(40);
  breakSectors([segment!.path], 12_288, fs.statSync(segment!.path).size);
  const read = (await readAll(reader)).map(([sequence]) => sequence);
  expect(read.slice(0, 10)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(read.filter((sequence) => sequence >= next!.first).length).toBe(40 - next!.first);
  expect(read.length).toBeLessThan(40);
}, 300_000);

test("records that a trim deletes during a read are not missing, those of a later segment are", async () => {
  const directory = temporaryDirectory();
  const writer = await openTextWriter(directory, { segmentBytesMax: 600_000 });
  await appendEach(writer, texts(180, "x".repeat(10_000)));
  await writer.close();
  const segments = listSegments(directory);
  expect(segments.length).toBeGreaterThanOrEqual(3);
  const [oldest, second, third] = segments as [Segment, Segment, Segment];
  const { logger, lines } = listeningLogger();
  const losses = new LossReport({ logger });
  const reader = await openLogReader({ directory, losses });
  reader.advance(180);

  // The read of the segment's first bytes ends when its file is gone.
  const { read } = fs;
  let trimmed: Promise<void> | undefined;
  spyOn(fs, "read").mockImplementation(((...args: Parameters<typeof read>) => {
    trimmed ??= reader.trim(second.first);
    void until(() => !fs.existsSync(oldest.path)).then(() => read(...args));
  }) as typeof read);
  const { records } = await reader.read(second.first - 1, 1);
  await trimmed;
  expect(records[0]!.sequence).toBe(second.first);
  expect([lines, losses.warnings()]).toEqual([[], []]);

  fs.rmSync(third.path);
  await readAll(reader);
  const to = segments[3]?.first ?? 180;
  expect(lines).toMatchObject([{ from: third.first, to, missingRecords: to - third.first }]);
});

test("a gap that is seen in parts is counted once", async () => {
  const { logger, lines } = listeningLogger();
  const metrics = new Registry();
  const losses = new LossReport({ logger, metrics });
  const told = () => lines.map(({ from, to, missingRecords }) => [from, to, missingRecords]);
  losses.missing("/logs/a", { from: 5, to: 10 }, 0);
  expect(told()).toEqual([]);
  expect(losses.warnings()).toEqual([]);
  losses.missing("/logs/a", { from: 15, to: 20 }, 5);
  losses.missing("/logs/a", { from: 17, to: 20 }, 3);
  losses.missing("/logs/a", { from: 15, to: 20 }, 5);
  expect(told()).toEqual([[15, 20, 5]]);
  losses.missing("/logs/a", { from: 12, to: 20 }, 8);
  losses.missing("/logs/b", { from: 0, to: 1 }, 1);
  losses.damaged("/logs/b", "/logs/b/segment", 0, 1);
  expect(told().slice(1, 3)).toEqual([
    [12, 20, 3],
    [0, 1, 1],
  ]);
  // A unit of a log may have several sequence numbers, as a block of a partition has.
  losses.missing("/logs/c", { from: 24, to: 40 }, 2);
  losses.missing("/logs/c", { from: 0, to: 40 }, 5);
  expect(told().slice(4)).toEqual([
    [24, 40, 2],
    [0, 40, 3],
  ]);
  expect(losses.warnings()).toEqual([
    "Event log a: 8 records are missing",
    "Event log b: 1 records are missing, 1 bytes are damaged",
    "Event log c: 5 records are missing",
  ]);
  expect(await metricValue(metrics, "pixelmill_log_missing_records_total")).toBe(14);
  // A gap below the number is forgotten, the gap at the number is not.
  losses.forget("/logs/a", 20);
  losses.forget("/logs/none", 20);
  losses.missing("/logs/a", { from: 12, to: 20 }, 8);
  expect(lines.length).toBe(6);
  losses.forget("/logs/a", 21);
  losses.missing("/logs/a", { from: 12, to: 20 }, 8);
  expect(lines.length).toBe(7);
});

test("a disk that neither reads nor writes is waited for", async () => {
  const directory = temporaryDirectory();
  const writer = await openTextWriter(directory);
  await appendEach(writer, texts(3));
  await writer.close();
  const reader = await openLogReader({ directory, losses: new LossReport({ logger: quiet }) });
  reader.advance(3);
  const [segment] = listSegments(directory);
  breakSectors([segment!.path], 0, 1);
  // A directory of this name is in the way of the page that is written to try the disk.
  fs.mkdirSync(`${directory}/probe`);
  await expect(reader.read(0, 1)).rejects.toThrow();
  healReads();
  expect((await readAll(reader)).length).toBe(3);
}, 300_000);

test("no record is skipped while all reads fail and writes succeed", async () => {
  const directory = temporaryDirectory();
  const writer = await openTextWriter(directory, { segmentBytesMax: 10_000 });
  await appendEach(writer, texts(20, "x".repeat(1_000)));
  const reader = await openLogReader({ directory, losses: new LossReport({ logger: quiet }) });
  reader.advance(20);
  const paths = listSegments(directory).map(({ path }) => path);
  expect(paths.length).toBe(3);
  breakSectors(paths, 0, Number.POSITIVE_INFINITY);
  await expect(reader.read(0, 1)).rejects.toThrow("EIO");
  // The newest segment alone: nothing behind it shows that the disk is well.
  breakSectors(paths.slice(2), 0, Number.POSITIVE_INFINITY);
  await expect(reader.read(19, 1)).rejects.toThrow();
  healReads();
  expect((await readAll(reader)).length).toBe(20);
  await writer.close();
}, 300_000);

test("an unreadable tail stays, and no record gets its numbers", async () => {
  const directory = temporaryDirectory();
  const before = await openTextWriter(directory);
  await appendEach(before, texts(20, "x".repeat(1_000)));
  await before.close();
  const [segment] = listSegments(directory);
  const { size } = fs.statSync(segment!.path);
  const bytes = fs.readFileSync(segment!.path);
  breakSectors([segment!.path], 12_288, size);
  let [end, readable] = [0, 0];
  for (let block = blockAt(bytes, 0, 0); block && end + block.bytes.length <= 12_288; ) {
    end += block.bytes.length;
    readable = block.end;
    block = blockAt(bytes, end, readable);
  }
  const writer = await openTextWriter(directory);
  // The unreadable bytes hold at most records without bytes, which have a length each.
  expect(writer.durable()).toBe(readable + Math.ceil((size - end) / RECORD_HEADER_BYTES));
  expect(writer.durable()).toBeGreaterThanOrEqual(20);
  await writer.append("after");
  expect(fs.statSync(segment!.path).size).toBe(size);

  const { logger, lines } = listeningLogger();
  const reader = await openLogReader({ directory, losses: new LossReport({ logger }) });
  reader.advance(writer.durable());
  expect((await readAll(reader)).at(-1)![1]).toBe("after");
  await writer.close();
  const told = lines.map(({ msg }) => msg);
  expect(told).toContain("damaged part of the event log skipped");
  // Numbers that no record got are not missing.
  expect(told).not.toContain("records are missing from the event log");
}, 300_000);

test("a segment that is unreadable only before its last block refuses no numbers", async () => {
  const directory = temporaryDirectory();
  const before = await openTextWriter(directory);
  await appendEach(before, texts(20, "x".repeat(1_000)));
  await before.close();
  const [segment] = listSegments(directory);
  breakSectors([segment!.path], 4_096, 8_192);
  const writer = await openTextWriter(directory);
  expect(writer.durable()).toBe(20);
  expect(fs.existsSync(join(directory, "refused"))).toBe(false);
  await writer.close();
}, 300_000);

test("the only readable block of a segment with an unreadable tail counts", async () => {
  const directory = temporaryDirectory();
  const before = await openTextWriter(directory);
  await before.append("x");
  await before.close();
  const [segment] = listSegments(directory);
  fs.truncateSync(segment!.path, 8_192);
  breakSectors([segment!.path], 4_096, 8_192);
  const writer = await openTextWriter(directory);
  const block = blockAt(fs.readFileSync(segment!.path), 0, 0)!;
  expect(block.end).toBe(1);
  const unreadable = 8_192 - block.bytes.length;
  expect(writer.durable()).toBe(1 + Math.ceil(unreadable / RECORD_HEADER_BYTES));
  await writer.close();
}, 300_000);
