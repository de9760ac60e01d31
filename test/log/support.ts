import { afterAll } from "bun:test";
import fs, { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import type { LogReader, LogWriter, RecordCodec } from "../../src/log/event-log.ts";
import { openLogWriter } from "../../src/log/writer.ts";
import type { Metrics } from "../../src/observe/metrics.ts";

export { until } from "../until.ts";

/** Records of the tests are short texts. */
export const textCodec: RecordCodec<string> = {
  bytesMax: (text) => text.length * 3,
  encode: (text, into, offset) => offset + into.write(text, offset),
};

export const quiet = pino({ level: "silent" });

/** A logger whose lines can be looked at. */
export function listeningLogger() {
  const lines: { level: number; msg: string; [key: string]: unknown }[] = [];
  const logger = pino(
    { level: "debug" },
    { write: (line: string) => lines.push(JSON.parse(line)) },
  );
  return { logger, lines };
}

/** A fresh directory, gone after the tests of the file. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-log-"));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export function openTextWriter(
  directory: string,
  options: { segmentBytesMax?: number; segmentMsMax?: number } = {},
): Promise<LogWriter<string>> {
  return openLogWriter({ directory, codec: textCodec, logger: quiet, ...options });
}

/** Appends texts one block each. */
export async function appendEach(writer: LogWriter<string>, texts: string[]): Promise<void> {
  for (const text of texts) await writer.append(text);
}

/** Everything from `from` to the reader's end, as `[sequence, text]`. */
export async function readAll(
  reader: LogReader,
  from = reader.first(),
  bytesMax = 1 << 20,
): Promise<[number, string][]> {
  const all: [number, string][] = [];
  let position = from;
  while (position < reader.end()) {
    const { records, next } = await reader.read(position, bytesMax);
    for (const { sequence, bytes } of records) all.push([sequence, Buffer.from(bytes).toString()]);
    if (next <= position) throw new Error(`The reader stands still at ${position}`);
    position = next;
  }
  return all;
}

export function texts(count: number, prefix = "record"): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix} ${i}`);
}

/** How many files below a directory this process has open. */
export function openFiles(directory: string): number {
  const links = readdirSync("/proc/self/fd").map((fd) => {
    return existsSync(`/proc/self/fd/${fd}`) ? readlinkSync(`/proc/self/fd/${fd}`) : "";
  });
  return links.filter((path) => path.startsWith(directory)).length;
}

type Read = (
  fd: number,
  into: Buffer,
  at: number,
  length: number,
  position: number,
  callback: (error: Error | null, bytesRead?: number) => void,
) => void;

const readOfDisk = fs.read;
const read = readOfDisk as unknown as Read;

/** Lets `fails` say, for each read of this process, with which error it fails, if with any. */
export function failReads(fails: (path: string, from: number, to: number) => string | undefined) {
  const failing: Read = (fd, into, at, length, position, callback) => {
    const path = readlinkSync(`/proc/self/fd/${fd}`);
    const code = fails(path, position, position + length);
    if (code === undefined) read(fd, into, at, length, position, callback);
    else queueMicrotask(() => callback(Object.assign(new Error(`${code}: read`), { code })));
  };
  fs.read = failing as unknown as typeof fs.read;
}

export function healReads(): void {
  fs.read = readOfDisk;
}

/** The sum of a metric's values; for a histogram, how often it observed. */
export async function metricValue(metrics: Metrics, name: string): Promise<number> {
  const { values } = await metrics.getSingleMetric(name)!.get();
  const counts = values.filter((it) => !("metricName" in it) || it.metricName === `${name}_count`);
  return counts.reduce((sum, { value }) => sum + value, 0);
}
