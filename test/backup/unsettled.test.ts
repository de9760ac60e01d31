import { expect, test } from "bun:test";
import fc from "fast-check";
import { cursorOf, type UnsettledKeys, unsettledEvents } from "../../src/backup/unsettled.ts";
import { eventRecordCodec } from "../../src/event/record.ts";
import type { LogReader } from "../../src/log/event-log.ts";

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
