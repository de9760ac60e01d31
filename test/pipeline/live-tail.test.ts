import { expect, test } from "bun:test";
import type { PixelRecord } from "../../src/event/record.ts";
import { LiveTail } from "../../src/pipeline/live-tail.ts";
import { eventOf, FakeLive, feedOf, MemoryLog, record } from "./doubles.ts";
import { numbersTo } from "./rig.ts";

test("a subscriber that joins during a read for one that left sees no older events", async () => {
  const log = new MemoryLog();
  const live = new FakeLive();
  live.addSource();
  const liveTail = new LiveTail(feedOf(log), live);
  const leave = liveTail.subscribe("workspace", () => {});
  // The first read, of 500 records, is in progress when the log is a thousand long.
  log.append(...numbersTo(1_000).map((n) => record(n)));
  const reading = liveTail.advance();
  leave();
  const seen: unknown[] = [];
  liveTail.subscribe("workspace", ({ event }) => seen.push(event));
  await reading;
  expect(seen).toEqual([]);
  log.append(record(1_000));
  await liveTail.advance();
  expect(seen.length).toBe(1);
});

test("events beside one that cannot be built are shown", async () => {
  const log = new MemoryLog();
  const live = new FakeLive();
  live.addSource();
  const feed = feedOf(log, (it) => {
    if ((it as PixelRecord).query.includes("n=1")) throw new Error("no event");
    return eventOf(it);
  });
  const liveTail = new LiveTail(feed, live);
  const seen: unknown[] = [];
  liveTail.subscribe("workspace", ({ event }) => seen.push((event as { n: number }).n));
  log.append(...numbersTo(3).map((n) => record(n)));
  await liveTail.advance();
  expect(seen).toEqual([0, 2]);
});
