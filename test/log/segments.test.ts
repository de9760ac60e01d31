import { expect, test } from "bun:test";
import { readFileSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Registry } from "prom-client";
import { withoutTrimming } from "../../src/log/lock.ts";
import { LossReport } from "../../src/log/loss-report.ts";
import { openLogReader } from "../../src/log/reader.ts";
import { listSegments } from "../../src/log/segment/segments.ts";
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
  texts,
} from "./support.ts";

/** Segments of ten records "record n" (38 bytes a block); none of more than two digits. */
const TEN_RECORDS = { segmentBytesMax: 380 };

async function logOf(records: number) {
  const directory = temporaryDirectory();
  const writer = await openTextWriter(directory, TEN_RECORDS);
  await appendEach(
    writer,
    texts(records).map((text) => text.padEnd(10, ".")),
  );
  return { directory, writer };
}

const firsts = (directory: string) => listSegments(directory).map(({ first }) => first);

test("a block is read only once all of it is durable", async () => {
  const directory = temporaryDirectory();
  const writer = await openTextWriter(directory);
  await Promise.all(texts(3).map((text) => writer.append(text)));
  const reader = await openLogReader({ directory, losses: new LossReport({ logger: quiet }) });
  reader.advance(2);
  expect(await reader.read(0, 1 << 20)).toEqual({ records: [], next: 0 });
  reader.advance(3);
  expect((await readAll(reader)).map(([sequence]) => sequence)).toEqual([0, 1, 2]);
  await writer.close();
});

test("a writer starts a segment when the last one is full, and when it opens", async () => {
  const { directory, writer } = await logOf(25);
  expect(firsts(directory)).toEqual([0, 10, 20]);
  await writer.close();
  const again = await openTextWriter(directory, TEN_RECORDS);
  await again.append("more");
  expect(firsts(directory)).toEqual([0, 10, 20, 25]);
  await again.close();
});

test("readers at distant positions of a log read each of its bytes about once", async () => {
  const directory = temporaryDirectory();
  const writer = await openTextWriter(directory);
  const lanes = 8;
  const share = 1_000;
  const count = lanes * share;
  for (let at = 0; at < count; at += 20) {
    await Promise.all(texts(20).map((text) => writer.append(text.padEnd(1_000, "."))));
  }
  const reader = await openLogReader({ directory, losses: new LossReport({ logger: quiet }) });
  reader.advance(count);
  // The first reader of a log learns where its blocks begin.
  await readAll(reader);
  let bytes = 0;
  failReads((_path, from, to) => {
    bytes += to - from;
    return undefined;
  });
  const positions = Array.from({ length: lanes }, (_, lane) => lane * share);
  for (let isDone = false; !isDone; ) {
    isDone = true;
    for (const [lane, at] of positions.entries()) {
      if (at >= (lane + 1) * share) continue;
      positions[lane] = (await reader.read(at, 256 << 10)).next;
      isDone = false;
    }
  }
  healReads();
  expect(bytes / (count * 1_000)).toBeLessThan(1.4);
  await writer.close();
});

test("a log that is being copied is not trimmed", async () => {
  const { directory, writer } = await logOf(25);
  const reader = await openLogReader({ directory, losses: new LossReport({ logger: quiet }) });
  reader.advance(25);
  const copies = [await withoutTrimming(directory, 0), await withoutTrimming(directory, 0)];
  await reader.trim(25);
  expect(firsts(directory)).toEqual([0, 10, 20]);
  copies[0]!();
  await reader.trim(25);
  expect(firsts(directory)).toEqual([0, 10, 20]);
  copies[1]!();
  await reader.trim(25);
  expect(firsts(directory)).toEqual([20]);
  await writer.close();
});

test("a flush is padded to a page if that takes few zeros", async () => {
  const directory = temporaryDirectory();
  const writer = await openTextWriter(directory);
  const { path } = listSegments(directory)[0]!;
  await writer.append("x");
  expect(statSync(path).size).toBe(29);
  // Buffers are used again: what an earlier block held must not stay in the zeros.
  const sizes = [9_000, 20_000, 11_000, 20_000, 9_000, 30_000];
  const records = sizes.map((size, i) => String(i).padEnd(size, "~"));
  for (const record of records) await writer.append(record);
  expect(statSync(path).size % 4_096).toBe(0);
  await writer.close();
  const written = readFileSync(path, "latin1");
  const zeros = written.length - sizes.reduce((sum, size) => sum + size) - 29 - 6 * 28;
  expect(written.match(/(?<=~)\0+(?=\xf5|$)/g)!.join("").length).toBe(zeros);
  expect(zeros).toBeLessThan(6 * 4_096);

  const reader = await openLogReader({ directory, losses: new LossReport({ logger: quiet }) });
  reader.advance(7);
  expect(await readAll(reader, 0)).toEqual(["x", ...records].map((text, i) => [i, text]));
  await reader.close();
});

test("each block of a flush begins with a page, so that the page cache is not needed", async () => {
  const directory = temporaryDirectory();
  const writer = await openTextWriter(directory);
  const { path } = listSegments(directory)[0]!;
  const records = [330_001, 320_002, 310_003].map((size, i) => String(i).padEnd(size, "~"));
  // One flush writes the first record or all of them; the rest follows in the next.
  await Promise.all(records.map((record) => writer.append(record)));
  await writer.close();
  const written = readFileSync(path);
  const blocks = written.toString("latin1").matchAll(/\xf5PX\xff/g);
  expect([...blocks].map(({ index }) => index % 4_096)).toEqual([0, 0, 0]);
  expect(written.length % 4_096).toBe(0);

  const reader = await openLogReader({ directory, losses: new LossReport({ logger: quiet }) });
  reader.advance(3);
  expect(await readAll(reader, 0)).toEqual(records.map((text, i) => [i, text]));
  await reader.close();
});

test("a trim deletes whole segments only, and never the newest", async () => {
  const { directory, writer } = await logOf(25);
  const reader = await openLogReader({ directory, losses: new LossReport({ logger: quiet }) });
  reader.advance(25);
  await reader.trim(9);
  expect(firsts(directory)).toEqual([0, 10, 20]);
  await reader.trim(10);
  expect(firsts(directory)).toEqual([10, 20]);
  expect(reader.first()).toBe(10);
  expect((await readAll(reader, 0))[0]![0]).toBe(10);
  await reader.trim(1000);
  expect(firsts(directory)).toEqual([20]);
  await writer.close();
  const again = await openTextWriter(directory, TEN_RECORDS);
  expect(again.durable()).toBe(25);
  await again.close();
});

test("readers at one position share one search", async () => {
  const { directory, writer } = await logOf(9);
  await writer.close();
  let reads = 0;
  failReads(() => void reads++);
  try {
    const counts = [];
    for (const together of [1, 10]) {
      reads = 0;
      const reader = await openLogReader({ directory, losses: new LossReport({ logger: quiet }) });
      reader.advance(9);
      await Promise.all(Array.from({ length: together }, () => reader.read(4, 1)));
      counts.push(reads);
    }
    expect(counts[0]).toBeGreaterThan(0);
    expect(counts[1]).toBe(counts[0]!);
  } finally {
    healReads();
  }
});

test("a trim does not disturb concurrent reads", async () => {
  const { directory, writer } = await logOf(95);
  const reader = await openLogReader({ directory, losses: new LossReport({ logger: quiet }) });
  reader.advance(95);
  const reads = Array.from({ length: 10 }, (_, i) => readAll(reader, i * 9, 40));
  for (let i = 10; i <= 90; i += 10) await reader.trim(i);
  for (const read of await Promise.all(reads)) {
    expect(read.slice(-6).map(([sequence]) => sequence)).toEqual([89, 90, 91, 92, 93, 94]);
  }
  await writer.close();
});

test("a reader finds segments that appear after it was opened", async () => {
  const directory = temporaryDirectory();
  const reader = await openLogReader({
    directory: join(directory, "new"),
    losses: new LossReport({ logger: quiet }),
  });
  expect(reader.first()).toBe(0);
  const writer = await openTextWriter(join(directory, "new"), TEN_RECORDS);
  for (let i = 0; i < 50; i++) {
    await writer.append(`late ${i}`);
    reader.advance(i + 1);
    expect(await readAll(reader, i)).toEqual([[i, `late ${i}`]]);
  }
  await writer.close();
});

test("a reader continues in the next segment when a known one is gone, and stops at an inaccessible one", async () => {
  const { directory, writer } = await logOf(35);
  await writer.close();
  const [reader, other] = await Promise.all(
    [1, 2].map(() => openLogReader({ directory, losses: new LossReport({ logger: quiet }) })),
  );
  reader!.advance(35);
  other!.advance(35);
  expect((await reader!.read(0, 1)).records[0]!.sequence).toBe(0);
  const paths = listSegments(directory).map(({ path }) => path);
  rmSync(paths[1]!);
  expect((await reader!.read(10, 1)).records[0]!.sequence).toBe(20);
  rmSync(paths[2]!);
  symlinkSync(paths[2]!, paths[2]!);
  await expect(other!.read(20, 1)).rejects.toThrow("ELOOP");
});

test("a reader passes over a damaged block and reports it once", async () => {
  const { directory, writer } = await logOf(25);
  const path = listSegments(directory)[1]!.path;
  const bytes = readFileSync(path);
  bytes[3 * 38 + 30]! ^= 1;
  bytes[4 * 38]! ^= 1;
  writeFileSync(path, bytes);

  const { logger, lines } = listeningLogger();
  const metrics = new Registry();
  const reader = await openLogReader({ directory, losses: new LossReport({ logger, metrics }) });
  reader.advance(25);
  const kept = Array.from({ length: 25 }, (_, i) => i).filter((i) => i !== 13 && i !== 14);
  for (let lane = 0; lane < 3; lane++) {
    expect((await readAll(reader)).map(([sequence]) => sequence)).toEqual(kept);
  }
  expect((await reader.read(13, 1)).records[0]!.sequence).toBe(15);
  expect((await reader.read(13, 1)).next).toBe(16);
  expect(lines.map(({ msg }) => msg)).toEqual([
    "damaged part of the event log skipped",
    "records are missing from the event log",
  ]);
  expect(lines[0]).toMatchObject({ offset: 3 * 38, damagedBytes: 2 * 38 });
  expect(lines[1]).toMatchObject({ from: 13, to: 15 });
  expect(await metricValue(metrics, "pixelmill_log_damaged_bytes_total")).toBe(76);
  expect(await metricValue(metrics, "pixelmill_log_missing_records_total")).toBe(2);
  await writer.close();
});

test("a reader continues in the next segment when the rest of one is gone", async () => {
  const { directory, writer } = await logOf(35);
  truncateSync(listSegments(directory)[1]!.path, 5 * 38 + 7);
  rmSync(listSegments(directory)[2]!.path);
  const reader = await openLogReader({ directory, losses: new LossReport({ logger: quiet }) });
  reader.advance(35);
  expect((await readAll(reader)).map(([sequence]) => sequence)).toEqual([
    ...Array.from({ length: 15 }, (_, i) => i),
    ...Array.from({ length: 5 }, (_, i) => i + 30),
  ]);
  await writer.close();
});

test("a reader passes over durable records that are gone, and reads the next ones", async () => {
  const { directory, writer } = await logOf(5);
  const path = listSegments(directory)[0]!.path;
  const bytes = readFileSync(path);
  bytes.fill(0xff, 3 * 38);
  writeFileSync(path, bytes);
  const reader = await openLogReader({ directory, losses: new LossReport({ logger: quiet }) });
  reader.advance(5);
  expect(await reader.read(3, 1000)).toEqual({ records: [], next: 5 });
  await writer.append("after");
  reader.advance(6);
  expect(await readAll(reader)).toEqual([
    [0, "record 0.."],
    [1, "record 1.."],
    [2, "record 2.."],
    [5, "after"],
  ]);
  await writer.close();
});

test("a query with the bytes of a block is not mistaken for a block", async () => {
  const directory = temporaryDirectory();
  const inner = await openTextWriter(join(directory, "inner"));
  await inner.append("forged");
  await inner.close();
  const forged = readFileSync(listSegments(join(directory, "inner"))[0]!.path).toString("utf8");

  const writer = await openTextWriter(join(directory, "outer"));
  await appendEach(writer, ["before", forged, "after"]);
  await writer.close();
  const path = listSegments(join(directory, "outer"))[0]!.path;
  const bytes = readFileSync(path);
  bytes[24 + 4 + 6]! ^= 1;
  writeFileSync(path, bytes);
  const reader = await openLogReader({
    directory: join(directory, "outer"),
    losses: new LossReport({ logger: quiet }),
  });
  reader.advance(3);
  expect(await readAll(reader)).toEqual([
    [0, "before"],
    [2, "after"],
  ]);
});
