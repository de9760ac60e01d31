import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  addUnsettledKeys,
  cursorOf,
  type UnsettledKeys,
  unsettledEvents,
} from "../../src/backup/unsettled.ts";
import { eventOf } from "../../src/event/event.ts";
import { eventRecordCodec, readRecord } from "../../src/event/record.ts";
import type { LogReader } from "../../src/log/event-log.ts";
import type { LaneRecord } from "../../src/pipeline/model/lane-record.ts";
import { SharedReader } from "../../src/pipeline/reading/shared-reader.ts";
import { quiet } from "../log/support.ts";
import { FakeLive, feedOf, laneMetrics, MemoryLog, record } from "../pipeline/doubles.ts";
import { sdkRecord } from "../pipeline/repetitions-rig.ts";
import { numbersTo } from "../pipeline/rig.ts";

test("a cursor in a new log has exactly the events that are not delivered", () => {
  const event = fc.record({ gap: fc.integer({ min: 1, max: 3 }), isOwed: fc.boolean() });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 12 }), (events) => {
      let sequence = 5;
      const sequences = events.map(({ gap }) => {
        sequence += gap;
        return sequence;
      });
      const keys = sequences.map((it) => `p0 ${it}`);
      const owed = new Set(keys.filter((_, at) => events[at]!.isOwed));
      const { next, pending } = cursorOf(keys, sequences, owed, sequence + 1);
      expect(sequences.map((it) => it >= next || pending.includes(it))).toEqual(
        events.map(({ isOwed }) => isOwed),
      );
      // An event from `next` on is not listed a second time.
      expect(pending.filter((it) => it >= next)).toEqual([]);
      // After the last event that is delivered, the cursor lists none.
      const last = events.findLastIndex(({ isOwed }) => !isOwed);
      expect(pending.filter((it) => it > (sequences[last] ?? -1))).toEqual([]);
    }),
  );
});

test("a cursor without undelivered events is at the end of the log", () => {
  expect(cursorOf(["a", "b"], [3, 4], new Set(), 9)).toEqual({ next: 9, pending: [] });
  expect(cursorOf([], [], new Set(), 0)).toEqual({ next: 0, pending: [] });
});

/** A log of events with these times of receipt; each read returns at most two of them. */
function logOf(times: readonly number[]): LogReader {
  const records = times.map((receivedAt, sequence) => {
    const record = {
      ...{ type: "page" as const, receivedAt, sourceId: "s", clientAddress: "" },
      ...{ messageId: new Uint8Array(16), query: "a=b" },
    };
    const bytes = Buffer.alloc(eventRecordCodec.bytesMax(record));
    return { sequence, bytes: bytes.subarray(0, eventRecordCodec.encode(record, bytes, 0)) };
  });
  return {
    first: () => 1,
    end: () => records.length,
    read: async (from: number) => {
      const found = records.slice(from, from + 2);
      return { records: found, next: from + found.length };
    },
  } as unknown as LogReader;
}

test("undelivered events of all logs are read in the order in which they were received", async () => {
  const readers = new Map([
    ["p0", logOf([0, 10, 40, 50, 60])],
    ["p1", logOf([0, 20, 30, 45, 70])],
    ["p2", logOf([])],
  ]);
  const unsettled: UnsettledKeys = new Map([
    ["one", new Set(["p0 0", "p0 1", "p0 4", "p1 2"])],
    ["two", new Set(["p0 1", "p1 1", "p1 3"])],
  ]);
  const found = await Array.fromAsync(unsettledEvents(readers, unsettled));
  // Records before the first one that the log still holds are gone.
  expect(found.map(({ key, receivedAt }) => [key, receivedAt])).toEqual([
    ["p0 1", 10],
    ["p1 1", 20],
    ["p1 2", 30],
    ["p1 3", 45],
    ["p0 4", 60],
  ]);
});

test("a log whose end cannot be read ends the search, instead of reading it for ever", async () => {
  const stuck = { ...logOf([0, 10, 20]), read: async (at: number) => ({ records: [], next: at }) };
  const readers = new Map([["p0", stuck as unknown as LogReader]]);
  const unsettled: UnsettledKeys = new Map([["one", new Set(["p0 1"])]]);
  expect(await Array.fromAsync(unsettledEvents(readers, unsettled))).toEqual([]);
});

test("each destination is owed the events that its position says it lacks, beside those of other logs", async () => {
  const log = new MemoryLog();
  log.append(...numbersTo(6).map((n) => record(n)), record(6, "ann", { sourceId: "other" }));
  const live = new FakeLive();
  for (const id of ["one", "two", "idle"]) live.putDestination(id);
  const connection = live.connect("one");
  live.connect("two", { "0": 3 });
  const stored: LaneRecord = {
    logs: { "0": { next: 4, pending: [1] } },
    known: { [connection]: {} },
  };
  const unsettled: UnsettledKeys = new Map([["two", new Set(["9 9"])]]);
  const lane = (id: string) => (id === "one" ? stored : undefined);
  await addUnsettledKeys(unsettled, { live, logs: feedOf(log), lane });
  expect(Object.fromEntries([...unsettled].map(([id, keys]) => [id, [...keys].sort()]))).toEqual({
    one: ["0 1", "0 4", "0 5"],
    two: ["0 3", "0 4", "0 5", "9 9"],
  });
});

test("events that only a newer version can read are named by their log", async () => {
  const log = new MemoryLog();
  const newer = Buffer.from(sdkRecord(1, "b"));
  newer[0] = 250;
  log.appendBytes(sdkRecord(0, "a"), newer);
  const live = new FakeLive();
  live.putDestination("one");
  live.connect("one");
  const readers = new Map([["0", log]]);
  const parts = { decode: readRecord, eventOf, logger: quiet, metrics: laneMetrics() };
  const logs = new SharedReader({ readers, ...parts }).subset(readers);
  const added = addUnsettledKeys(new Map(), { live, logs, lane: () => undefined });
  await expect(added).rejects.toThrow("stored some in the event log 0; use the executable");
});
