/**
 * Compares logs of 1,000 and more records: appending, reading the tail, reading an old segment, and
 * reopening must cost the same at every size. The logs alternate, so that a slow moment of the
 * machine affects all.
 *
 *   bun bench/log-growth.ts [--records 1000000] [--rounds 40]     (10,000,000 records take 4 GB)
 */

import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { LogReader, LogWriter } from "../src/log/event-log.ts";
import { LossReport } from "../src/log/loss-report.ts";
import { openLogReader } from "../src/log/reader.ts";
import { listSegments } from "../src/log/segment/segments.ts";
import { openLogWriter } from "../src/log/writer.ts";
import { createLogger } from "../src/observe/log.ts";
import { median } from "./load.ts";
import { report, round2 } from "./report.ts";

const RECORD = Buffer.alloc(300, "pixel ");
const BATCH = 256;
const READ_RECORDS = 1_000;
const RESTARTS = 5;

const { values } = parseArgs({
  options: {
    records: { type: "string", default: "1000000" },
    rounds: { type: "string", default: "40" },
  },
});
const logger = createLogger("error");
const codec = {
  bytesMax: (record: Buffer) => record.length,
  encode: (record: Buffer, into: Buffer, offset: number) => offset + record.copy(into, offset),
};

interface Grown {
  directory: string;
  records: number;
  writer: LogWriter<Buffer>;
  /** Reader at the tail, where a lane reads. */
  tail: LogReader;
  appendUs: number[];
  followUs: number[];
  readUs: number[];
}

const root = mkdtempSync(join(tmpdir(), "pixelmill-bench-"));
try {
  const logs: Grown[] = [];
  for (let records = 1_000; records <= Number(values.records); records *= 10) {
    logs.push(await grow(join(root, String(records)), records));
  }
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const log of logs) await measure(log);
  }
  for (const { writer } of logs) await writer.close();
  const rows = [];
  for (const log of logs) rows.push(await row(log, logs[0]!));
  await report("log-growth", rows);
} finally {
  rmSync(root, { recursive: true });
}

async function grow(directory: string, records: number): Promise<Grown> {
  const writer = await openLogWriter({ directory, codec, logger });
  for (let done = 0; done < records; done += BATCH) {
    await appendBatch(writer, Math.min(BATCH, records - done));
  }
  const tail = await openLogReader({ directory, losses: new LossReport({ logger }) });
  tail.advance(writer.durable());
  return { directory, records, writer, tail, appendUs: [], followUs: [], readUs: [] };
}

/** Runs one turn: appends a batch, reads the tail, and reads an old segment from its start. */
async function measure({ directory, writer, tail, appendUs, followUs, readUs }: Grown) {
  const position = writer.durable();
  appendUs.push((await timed(() => appendBatch(writer, BATCH))) / BATCH);

  tail.advance(writer.durable());
  followUs.push((await timed(() => readRecords(tail, position, BATCH))) / BATCH);

  const segments = listSegments(directory);
  const { first } = segments[Math.floor(Math.random() * segments.length)]!;
  const count = Math.min(READ_RECORDS, writer.durable() - first);
  const readOld = async () => {
    const reader = await openLogReader({ directory, losses: new LossReport({ logger }) });
    reader.advance(writer.durable());
    return (await timed(() => readRecords(reader, first, count))) / count;
  };
  // Reads once before, so that the measured read does not depend on the processor's caches.
  await readOld();
  readUs.push(await readOld());
}

async function appendBatch(writer: LogWriter<Buffer>, count: number): Promise<void> {
  let appended: Promise<void> | undefined;
  for (let i = 0; i < count; i++) appended = writer.append(RECORD);
  await appended;
}

async function readRecords(reader: LogReader, from: number, count: number): Promise<void> {
  let position = from;
  for (let seen = 0; seen < count; ) {
    const { records, next } = await reader.read(position, 1 << 16);
    seen += records.length;
    position = next;
  }
}

/** Measures CPU time in microseconds, which does not depend on other load of the machine. */
async function timed(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

async function row(log: Grown, smallest: Grown): Promise<Record<string, string | number>> {
  const ratio = (of: (log: Grown) => number[]) => round2(median(of(log)) / median(of(smallest)));
  const bytes = listSegments(log.directory).reduce((sum, { path }) => sum + statSync(path).size, 0);
  return {
    records: log.records,
    MiB: Math.round(bytes / (1 << 20)),
    "append µs": round2(median(log.appendUs)),
    "append ratio": ratio((it) => it.appendUs),
    "follow µs": round2(median(log.followUs)),
    "follow ratio": ratio((it) => it.followUs),
    "read µs": round2(median(log.readUs)),
    "read ratio": ratio((it) => it.readUs),
    "restart ms": await restart(log.directory),
  };
}

/**
 * Milliseconds from reopening the log until its last record is read: the slowest of five, which is
 * the first, when the newest segment has its full length.
 */
async function restart(directory: string): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < RESTARTS; i++) {
    const startedAt = performance.now();
    const writer = await openLogWriter({ directory, codec, logger });
    const reader = await openLogReader({ directory, losses: new LossReport({ logger }) });
    reader.advance(writer.durable());
    await readRecords(reader, writer.durable() - 1, 1);
    times.push(performance.now() - startedAt);
    await writer.append(RECORD);
    await writer.close();
  }
  return Math.round(Math.max(...times));
}
