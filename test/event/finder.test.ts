import { expect, test } from "bun:test";
import fc from "fast-check";
import { eventOf } from "../../src/event/event.ts";
import { createFinder } from "../../src/event/finder.ts";
import {
  type EventRecord,
  eventRecordCodec,
  type JsonRecord,
  type PixelRecord,
} from "../../src/event/record.ts";
import { uuidText } from "../../src/event/uuid.ts";
import { PIXEL_TARGET_BYTES_MAX } from "../../src/settings/limits.ts";
import { query } from "./queries.ts";

function encoded(record: EventRecord): Uint8Array {
  const into = Buffer.alloc(eventRecordCodec.bytesMax(record));
  return into.subarray(0, eventRecordCodec.encode(record, into, 0));
}

const recordOf = (text: string, type: "page" | "track" = "track"): PixelRecord => ({
  type,
  receivedAt: 5,
  sourceId: "source",
  clientAddress: "203.0.113.7",
  messageId: new Uint8Array(16).fill(7),
  query: text,
});

const fields = ["userId", "anonymousId"] as const;

test("an event is found by its own texts only, however its query is encoded", () => {
  let found = 0;
  fc.assert(
    fc.property(query, fc.constantFrom("page" as const, "track" as const), (text, type) => {
      const record = recordOf(text, type);
      const event = eventOf(record);
      const bytes = encoded(record);
      const isFound = (asked: object) => createFinder(asked, () => true, eventOf)(bytes);
      for (const field of fields) {
        if (event[field] === "") continue;
        found++;
        expect(isFound({ [field]: event[field] })).toBe(true);
        expect(isFound({ [field]: `${event[field]}x` })).toBe(false);
        expect(isFound({ [field]: event[field], event: "no such name" })).toBe(false);
      }
      if (event.name !== "") expect(isFound({ event: event.name })).toBe(true);
    }),
    { numRuns: 3_000 },
  );
  expect(found).toBeGreaterThan(100);
});

test("an event is found by time, id and source", () => {
  const bytes = encoded(recordOf("userId=u"));
  const isFound = (asked: object, source = "source") =>
    createFinder(asked, (id) => id === source, eventOf)(bytes);
  expect(isFound({})).toBe(true);
  expect(isFound({}, "other")).toBe(false);
  expect(isFound({ from: 5, to: 6 })).toBe(true);
  expect(isFound({ from: 6 })).toBe(false);
  expect(isFound({ to: 5 })).toBe(false);
  expect(isFound({ messageId: uuidText(new Uint8Array(16).fill(7)) })).toBe(true);
  expect(isFound({ messageId: uuidText(new Uint8Array(16).fill(8)) })).toBe(false);
});

test.each([
  ["userId=a+b", "a b"],
  ["userId=a%20b", "a b"],
  ["userId=a%2Bb", "a+b"],
  ["user%49d=%61b", "ab"],
  ["userId=%E6%97%a5", "日"],
  ["userId=%FF", "\uFFFD"],
  ["userId=x&userId=y", "x"],
])("%s is found by its user", (text, userId) => {
  expect(createFinder({ userId }, () => true, eventOf)(encoded(recordOf(text)))).toBe(true);
});

test("the longest query is searched to its end", () => {
  const text = "url=&userId=%62".padStart(PIXEL_TARGET_BYTES_MAX, "x");
  expect(createFinder({ userId: "b" }, () => true, eventOf)(encoded(recordOf(text)))).toBe(true);
});

function sdkRecord(json: string, over: Partial<JsonRecord> = {}): Uint8Array {
  return encoded({
    ...{ format: "json", type: "track", receivedAt: 5, sourceId: "source", clientAddress: "" },
    ...{ messageId: undefined, sentAt: undefined, json: Buffer.from(json) },
    ...over,
  });
}

test("an event of an SDK is found by its own texts, however they are escaped", () => {
  const json = '{"messageId":"m-1","userId":"\\u0061\\/b","anonymousId":7,"event":"größe"}';
  const bytes = sdkRecord(json);
  const isFound = (asked: object) => createFinder(asked, () => true, eventOf)(bytes);
  for (const asked of [
    ...[{ userId: "a/b" }, { anonymousId: "7" }, { event: "größe" }, { messageId: "m-1" }],
    ...[{ text: "GRÖSSE".toLowerCase().replace("ss", "ß") }, { property: "userId=a/b" }, {}],
  ]) {
    expect(isFound(asked)).toBe(true);
  }
  for (const asked of [
    ...[{ userId: "a" }, { anonymousId: "8" }, { event: "m-1" }, { messageId: "m" }],
    ...[{ isRefused: true }, { from: 6 }],
  ]) {
    expect(isFound(asked)).toBe(false);
  }
});

test("an event of an SDK is found by the messageId that the server made, in any case", () => {
  const messageId = new Uint8Array(16).fill(0xab);
  const bytes = sdkRecord('{"userId":"u"}', { messageId });
  const isFound = (id: string) => createFinder({ messageId: id }, () => true, eventOf)(bytes);
  expect(isFound(uuidText(messageId))).toBe(true);
  expect(isFound(uuidText(messageId).toUpperCase())).toBe(true);
  expect(isFound("u")).toBe(false);
});

test("bytes that are no record are not found", () => {
  const bytes = encoded(recordOf("userId=u"));
  const finder = createFinder({}, () => true, eventOf);
  for (let end = 0; end < bytes.length; end++) expect(finder(bytes.subarray(0, end))).toBe(false);
  expect(finder(Buffer.concat([Buffer.of(9), bytes.subarray(1)]))).toBe(false);
});
