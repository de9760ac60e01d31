import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import type { PixelRecord } from "../../src/event/record.ts";
import { markVersion4 } from "../../src/event/uuid.ts";
import { openFileLog } from "../../src/ingest/log/file-log.ts";
import type { FileLogSettings, IngestMessage } from "../../src/ingest/messages.ts";
import { openMark } from "../../src/log/durable-mark.ts";
import type { LogHealth } from "../../src/log/event-log.ts";
import { createMetrics } from "../../src/observe/metrics.ts";
import { soon } from "../until.ts";

const record = (sourceId = "s"): PixelRecord => ({
  ...{ type: "page", receivedAt: 0, sourceId, clientAddress: "", query: "a=b" },
  messageId: markVersion4(crypto.getRandomValues(new Uint8Array(16))),
});

const made: string[] = [];
afterAll(() => {
  for (const directory of made) rmSync(directory, { recursive: true, force: true });
});

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-file-log-"));
  made.push(directory);
  return directory;
}

/** Opens a log that keeps what it tells the server. */
async function openLog(settings: Partial<FileLogSettings> = {}) {
  const directory = settings.directory ?? newDirectory();
  const sent: IngestMessage[] = [];
  const healths: LogHealth[] = [];
  const log = await openFileLog(
    { kind: "files", directory, firstSequence: 0, otherLogs: [], ...settings },
    {
      logger: pino({ level: "silent" }),
      metrics: createMetrics("test"),
      onHealth: (health) => healths.push(health),
      send: (message) => sent.push(message),
    },
  );
  return { directory, log, sent, healths };
}

/** Runs `append` over a log, and returns the sequences that the log reported to the server. */
async function reports(
  append: (
    log: Awaited<ReturnType<typeof openFileLog>>,
    last: () => number | undefined,
  ) => Promise<void>,
) {
  const { log, sent } = await openLog();
  const sequences = () =>
    sent.flatMap((message) => (message.type === "durable" ? [message.sequence] : []));
  try {
    await append(log, () => sequences().at(-1));
  } finally {
    await log.close();
  }
  return sequences();
}

test("a pixel that comes alone is reported to the server at once, and arms no timer", async () => {
  const { setTimeout } = globalThis;
  let timers = 0;
  globalThis.setTimeout = ((...args: Parameters<typeof setTimeout>) => {
    timers++;
    return setTimeout(...args);
  }) as typeof setTimeout;
  try {
    const sequences = await reports(async (log) => {
      for (let n = 0; n < 10; n++) {
        await log.append(record(), 0);
        // Longer than a pause between two reports and than the wait of a flush.
        await Bun.sleep(20);
      }
    });
    expect(sequences).toEqual(Array.from({ length: 10 }, (_, n) => n + 1));
    expect(timers).toBe(0);
  } finally {
    globalThis.setTimeout = setTimeout;
  }
});

test("pixels that follow each other share reports, and the last one is reported", async () => {
  const sequences = await reports(async (log, last) => {
    for (let n = 0; n < 200; n++) await log.append(record(), 0);
    while (last() !== 200) await Bun.sleep(5);
  });
  expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b));
});

test("a report names the sources of its records, unless there are more than 2,000", async () => {
  for (const [count, isNamed] of [
    [1, true],
    [2_000, true],
    [2_001, false],
  ] as const) {
    const { log, sent } = await openLog();
    const ids = Array.from({ length: count }, (_, n) => `s${n}`);
    const records = ids.map((id) => record(id));
    await log.appendAll(records, []);
    await log.close();
    const sources = isNamed && { sources: ids };
    expect(sent).toEqual([{ type: "durable", sequence: count, ...sources }]);
  }
});

test("a log whose disk fails tells its present cause, and when it is written again", async () => {
  const { directory, log, healths } = await openLog({ segmentBytesMax: 1 });
  const well = { failing: 0, writable: 1, faults: [] };
  expect(log.health()).toEqual(well);
  await log.append(record(), 0);
  expect(healths).toEqual([]);
  rmSync(directory, { recursive: true });
  await expect(log.append(record(), 0)).rejects.toThrow("The disk failed");
  await expect(log.append(record(), 0)).rejects.toThrow("The disk failed");
  const unwell = (cause: string) => {
    const fault = `The event log is not written: a write to ${directory} fails: ${cause}`;
    return { failing: 1, writable: 0, faults: [fault] };
  };
  const first = unwell("no such file or directory (ENOENT)");
  expect(new Set(healths.map((it) => JSON.stringify(it)))).toEqual(
    new Set([JSON.stringify(first)]),
  );
  expect(log.health()).toEqual(first);
  writeFileSync(directory, "");
  await soon(async () => expect(healths.at(-1)).toEqual(unwell("not a directory (ENOTDIR)")));
  rmSync(directory);
  mkdirSync(directory);
  await soon(async () => expect(healths.at(-1)).toEqual(well));
  expect(log.health()).toEqual(well);
  await log.close();
});

test("a log goes on behind its mark and behind what was read, and says what is missing", async () => {
  for (const [mark, firstSequence, gaps] of [
    [0, 0, []],
    [5, 0, [{ type: "missing", from: 0, to: 5 }]],
    [5, 7, [{ type: "missing", from: 0, to: 7 }]],
  ] as const) {
    const directory = newDirectory();
    openMark(directory).set(mark);
    const { log, sent } = await openLog({ directory, firstSequence });
    const first = Math.max(mark, firstSequence);
    expect(log.durable!()).toBe(first);
    expect(sent as unknown).toEqual(gaps);
    // Another process learns the end from the mark, before a record is acknowledged.
    expect(openMark(directory).get()).toBe(first);
    await log.append(record(), 0);
    expect(openMark(directory).get()).toBe(first + 1);
    await log.close();
  }
});

test("the ends of the other logs are those of their marks, and the same list until one moves", async () => {
  const others = [3, 8].map((log) => ({ log, directory: newDirectory() }));
  const marks = others.map(({ directory }) => openMark(directory));
  marks[0]!.set(4);
  const { log } = await openLog({ otherLogs: others });
  const first = log.otherLogs!();
  expect(first).toEqual([
    { log: 3, sequence: 4 },
    { log: 8, sequence: 0 },
  ]);
  expect(log.otherLogs!()).toBe(first);
  for (const [index, expected] of [
    [1, [4, 6]],
    [0, [6, 6]],
  ] as const) {
    marks[index]!.set(6);
    expect(log.otherLogs!().map(({ sequence }) => sequence)).toEqual([...expected]);
  }
  await log.close();
  const alone = await openLog();
  expect(alone.log.otherLogs).toBeUndefined();
  await alone.log.close();
});
