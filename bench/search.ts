/**
 * Measures searches of a log: speed, memory, and the longest block of the event loop, against
 * parsing every event.
 *
 *   bun bench/search.ts [--events 1000000] [--rounds 3]
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { eventOf } from "../src/event/event.ts";
import { decodeRecord, eventRecordCodec, type PixelRecord } from "../src/event/record.ts";
import type { LogReader } from "../src/log/event-log.ts";
import { LossReport } from "../src/log/loss-report.ts";
import type { Positions } from "../src/log/positions.ts";
import { openLogReader } from "../src/log/reader.ts";
import { openLogWriter } from "../src/log/writer.ts";
import { createLogger } from "../src/observe/log.ts";
import { createSearch, type SearchQuery } from "../src/pipeline/search/search.ts";
import { median } from "./load.ts";
import { report, round2 } from "./report.ts";

const { values } = parseArgs({
  options: {
    events: { type: "string", default: "1000000" },
    rounds: { type: "string", default: "3" },
  },
});
const EVENTS = Number(values.events);
const FLUSH = 256;
/** One of this many events has the user of the search. */
const RARE = 100_000;

const clock = { elapsed: () => performance.now() };
const logger = createLogger("error");
const directory = mkdtempSync(join(tmpdir(), "pixelmill-bench-"));
try {
  await fill();
  const none = { isSource: () => true, limit: 100 };
  const cases: Record<string, (reader: LogReader) => Promise<number>> = {
    "a rare user": (it) => searchAll(it, { ...none, userId: "wanted" }),
    "a message id": (it) =>
      searchAll(it, { ...none, messageId: "00000000-0000-4000-8000-000000000000" }),
    "the newest 100": (it) => searchOnce(it, none),
    "an hour in the middle": (it) =>
      searchAll(it, { ...none, userId: "wanted", from: EVENTS / 2, to: EVENTS / 2 + 10_000 }),
    "every event built": buildAll,
  };
  const rows = [];
  for (const [name, run] of Object.entries(cases)) rows.push(await row(name, run));
  await report("search", rows);
} finally {
  rmSync(directory, { recursive: true });
}

async function row(name: string, run: (reader: LogReader) => Promise<number>) {
  const seconds: number[] = [];
  const cpuSeconds: number[] = [];
  let found = 0;
  let grownMiB = 0;
  let delayMs = 0;
  for (let round = 0; round < Number(values.rounds); round++) {
    const reader = await openLogReader({ directory, losses: new LossReport({ logger }) });
    reader.advance(EVENTS);
    Bun.gc(true);
    const before = process.memoryUsage().rss;
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    found = await run(reader);
    seconds.push((performance.now() - startedAt) / 1_000);
    const { user, system } = process.cpuUsage(cpu);
    cpuSeconds.push((user + system) / 1e6);
    delay.disable();
    delayMs = Math.max(delayMs, delay.percentile(99) / 1e6);
    grownMiB = Math.max(grownMiB, (process.memoryUsage().rss - before) / 2 ** 20);
    await reader.close();
  }
  return {
    search: name,
    found,
    seconds: round2(median(seconds)),
    "CPU seconds": round2(median(cpuSeconds)),
    "memory growth MiB": Math.round(grownMiB),
    "event loop delay p99 ms": round2(delayMs),
  };
}

async function searchOnce(reader: LogReader, query: SearchQuery): Promise<number> {
  const search = createSearch({ readers: new Map([["0", reader]]), clock, eventOf });
  return (await search(query, new AbortController().signal)).events.length;
}

/** Repeats a search with its cursor until the end of the log. */
async function searchAll(reader: LogReader, query: SearchQuery): Promise<number> {
  const search = createSearch({ readers: new Map([["0", reader]]), clock, eventOf });
  let found = 0;
  let rest: Positions | undefined;
  do {
    const asked = { ...query, ...(rest && { rest }) };
    const page = await search(asked, new AbortController().signal);
    found += page.events.length;
    rest = page.stopped?.rest;
  } while (rest !== undefined);
  return found;
}

async function buildAll(reader: LogReader): Promise<number> {
  let found = 0;
  for (let at = 0; at < EVENTS; ) {
    const { records, next } = await reader.read(at, 256 << 10);
    for (const { bytes } of records) {
      if (eventOf(decodeRecord(bytes)).userId === "wanted") found++;
    }
    at = next;
  }
  return found;
}

async function fill(): Promise<void> {
  const writer = await openLogWriter({ directory, codec: eventRecordCodec, logger });
  for (let n = 0; n < EVENTS; n += FLUSH) {
    const all = Array.from({ length: Math.min(FLUSH, EVENTS - n) }, (_, i) => recordOf(n + i));
    await Promise.all(all.map((it) => writer.append(it)));
  }
  await writer.close();
}

function recordOf(n: number): PixelRecord {
  const user = n % RARE === 7 ? "wanted" : `user-${n % 5_000}`;
  const messageId = new Uint8Array(16);
  new DataView(messageId.buffer).setUint32(0, n);
  const page = encodeURIComponent(`https://shop.example.com/products/${n % 900}?ref=mail`);
  const query =
    `writeKey=IB8AYdboEVsR2FvyLse8qdzwXtV&userId=${user}&anonymousId=visitor-${n}` +
    `&event=Product%20Viewed&properties.price=${n % 100}.5&properties.plan=pro` +
    `&context.page.url=${page}`;
  return {
    type: "track",
    receivedAt: n,
    sourceId: "0ERUjDZbNanv6mNfgXxKZmJzFKS",
    clientAddress: "203.0.113.7",
    messageId,
    query,
  };
}
