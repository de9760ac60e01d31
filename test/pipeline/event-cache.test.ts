import { expect, test } from "bun:test";
import type { EventRecord } from "../../src/event/record.ts";
import { EventCache, RecordInput } from "../../src/pipeline/reading/input.ts";

const MIB = 1 << 20;

/** Inputs of these sizes that share a cache, and the numbers of the events that it has built. */
function inputsOf(count: number, jsonBytes: number, recordBytes: number) {
  const built: number[] = [];
  const cache = new EventCache(({ receivedAt }) => {
    built.push(receivedAt);
    return { json: new Uint8Array(jsonBytes), user: "", userId: "", anonymousId: "" };
  });
  const inputs = Array.from({ length: count }, (_, n) => {
    const json = new Uint8Array(recordBytes);
    const record = { format: "json", json, receivedAt: n, sourceId: "s", type: "track" };
    return new RecordInput(n, record as unknown as EventRecord, cache);
  });
  const read = (from: number, to: number) => inputs.slice(from, to).map((it) => it.event);
  return { built, read };
}

const large: [string, number, number][] = [
  ["large", MIB, 0],
  ["from large records", 0, MIB],
];
test.each(large)(
  "the latest events that are %s are built once, and older ones again",
  (_, jsonBytes, recordBytes) => {
    const { built, read } = inputsOf(8, jsonBytes, recordBytes);
    const first = read(0, 8);
    expect(built).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    // The second half of the bytes has filled up, and the events before it are dropped.
    expect(read(4, 8).every((event, n) => event === first[4 + n])).toBe(true);
    expect(built).toHaveLength(8);
    read(0, 3);
    read(0, 8);
    // With event 3, a half is full again, and the later events are dropped.
    expect(built.slice(8)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  },
);

test("small events of small records all stay", () => {
  const { built, read } = inputsOf(1_000, 100, 100);
  read(0, 1_000);
  read(0, 1_000);
  expect(built).toHaveLength(1_000);
});

test("an input has the facts of its record, and the messageId of the record or else of its event", () => {
  const cache = new EventCache(() => ({ json: new Uint8Array(0), messageId: "own" }) as never);
  const facts = { receivedAt: 5, sourceId: "s", type: "track", after: [{ log: 1, sequence: 2 }] };
  const inputOf = (more: object) =>
    new RecordInput(7, { ...facts, format: "json", json: [], ...more } as never, cache);
  const input = inputOf({});
  const { sequence, receivedAt, sourceId, type, after } = input;
  expect<unknown>({ sequence, receivedAt, sourceId, type, after }).toEqual({
    sequence: 7,
    ...facts,
  });
  expect(input.messageId).toBe("own");
  const messageId = new Uint8Array(16).fill(1);
  expect(inputOf({ messageId }).messageId).toBe("01010101-0101-0101-0101-010101010101");
});
