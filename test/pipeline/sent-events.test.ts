import { expect, test } from "bun:test";
import { eventRecordCodec } from "../../src/event/record.ts";
import type { LogReader, LogRecord } from "../../src/log/event-log.ts";
import { SentEventReader, sentEvent } from "../../src/pipeline/repetitions/sent-event-reader.ts";
import { record } from "./doubles.ts";
import { sdkRecord } from "./repetitions-rig.ts";

const all = () => true;
/** Bytes of a record that only a later version can read. */
const newer = Buffer.from([250, 1, 2, 3]);

function pixel(): Buffer {
  const pixelRecord = record(1);
  const buffer = Buffer.alloc(eventRecordCodec.bytesMax(pixelRecord));
  return buffer.subarray(0, eventRecordCodec.encode(pixelRecord, buffer, 0));
}

test("an event with an id of its client is found with its source, time and the ends of other logs", () => {
  const after = [{ log: 1, sequence: 70 }];
  const bytes = sdkRecord(3, 'a "b" é', { at: 1_234, sourceId: "s", after });
  expect(sentEvent(9, bytes, all)).toEqual({
    ...{ sequence: 9, sourceId: "s", messageId: 'a "b" é', receivedAt: 1_234, after },
  });
  const asked: string[] = [];
  sentEvent(9, bytes, (sourceId) => asked.push(sourceId) > 0);
  expect(asked).toEqual(["s"]);
});

test("no sent event is found where the client made no id, or where no event is wanted", () => {
  const cases: [title: string, bytes: Uint8Array, isWanted: (id: string) => boolean][] = [
    ["the server made the id", sdkRecord(1, undefined), all],
    ["a pixel", pixel(), all],
    ["a refused event", sdkRecord(1, "a", { refused: "too late" }), all],
    ["a source that is not wanted", sdkRecord(1, "a"), (id) => id !== "source"],
    ["a newer version", newer, all],
    ["a damaged record", sdkRecord(1, "a").subarray(0, 30), all],
    ["no bytes", new Uint8Array(), all],
  ];
  for (const [title, bytes, isWanted] of cases) {
    expect([title, sentEvent(1, bytes, isWanted)]).toEqual([title, undefined]);
  }
});

/** Log whose reads return all records up to `ends`, and counts of these reads. */
function logOf(records: Uint8Array[], { block = 4, next = records.length } = {}) {
  const reads: number[] = [];
  const reader = {
    read: async (position: number) => {
      reads.push(position);
      const from = position - (position % block);
      const read: LogRecord[] = [];
      for (let sequence = from; sequence < Math.min(from + block, records.length); sequence++) {
        read.push({ sequence, bytes: records[sequence]! });
      }
      return { records: read, next: Math.min(from + block, next) };
    },
  } as Partial<LogReader> as LogReader;
  return { reader, reads };
}
const lot = (count: number) => Array.from({ length: count }, (_, n) => sdkRecord(n, `id ${n}`));
const idsOf = ({ events }: { events: readonly { messageId: string }[] }) =>
  events.map(({ messageId }) => messageId);

test("events are read once while a search stays in the range that was read last", async () => {
  const { reader, reads } = logOf(lot(8));
  const events = new SentEventReader(all);
  const first = await events.read("0", reader, 1);
  expect([first.from, first.next, first.knownUpTo]).toEqual([1, 4, 4]);
  expect(idsOf(first)).toEqual(["id 0", "id 1", "id 2", "id 3"]);
  for (const position of [1, 2, 3]) expect(await events.read("0", reader, position)).toBe(first);
  expect(reads).toEqual([1]);
  const second = await events.read("0", reader, 4);
  expect(idsOf(second)).toEqual(["id 4", "id 5", "id 6", "id 7"]);
  expect(await events.read("0", reader, 0)).toMatchObject({ from: 0, next: 4 });
  expect(reads).toEqual([1, 4, 0]);
});

test("each log has a range of its own", async () => {
  const [one, other] = [logOf(lot(2)), logOf(lot(3))];
  const events = new SentEventReader(all);
  const first = await events.read("0", one.reader, 0);
  expect(idsOf(await events.read("1", other.reader, 0))).toHaveLength(3);
  expect(await events.read("0", one.reader, 1)).toBe(first);
  expect([one.reads, other.reads]).toEqual([[0], [0]]);
});

test("a range is read again once other sources are wanted", async () => {
  const wanted = new Set<string>();
  const { reader, reads } = logOf(lot(2));
  const events = new SentEventReader((sourceId) => wanted.has(sourceId));
  expect(idsOf(await events.read("0", reader, 0))).toEqual([]);
  wanted.add("source");
  events.forget();
  expect(idsOf(await events.read("0", reader, 0))).toEqual(["id 0", "id 1"]);
  expect(reads).toEqual([0, 0]);
});

test("a range is known up to the first record of a newer version at or behind its position", async () => {
  const [a, b, c] = lot(3);
  const { reader, reads } = logOf([newer, a!, newer, b!, newer, c!], { block: 6, next: 9 });
  const events = new SentEventReader(all);
  const read = (position: number) => events.read("0", reader, position);
  expect(await read(1)).toMatchObject({ from: 1, next: 6, knownUpTo: 2 });
  expect(await read(2)).toMatchObject({ from: 2, next: 6, knownUpTo: 2 });
  // Nothing is known behind the record, which is looked at again.
  expect(await read(3)).toMatchObject({ from: 3, next: 6, knownUpTo: 4 });
  expect(await read(5)).toMatchObject({ from: 5, next: 6, knownUpTo: 6 });
  expect(await read(5)).toMatchObject({ from: 5 });
  expect(reads).toEqual([1, 2, 3, 5]);
});
