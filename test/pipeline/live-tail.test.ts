import { expect, test } from "bun:test";
import { LiveTail } from "../../src/pipeline/live-tail.ts";
import { FakeLive, feedOf, MemoryLog, record } from "./doubles.ts";
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
