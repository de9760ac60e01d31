import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { eventOf } from "../../src/event/event.ts";
import {
  decodeRecord,
  type EventRecord,
  eventRecordCodec,
  isRefusedRecord,
  type JsonRecord,
  sourceOfRecord,
} from "../../src/event/record.ts";
import { LossReport } from "../../src/log/loss-report.ts";
import { openLogReader } from "../../src/log/reader.ts";
import { openLogWriter } from "../../src/log/writer.ts";

/** A segment with two pixels, in gzip, that the version before events of SDKs wrote. */
const SEGMENT =
  "H4sIAAAAAAAAA/saEPE/g4GBgZGBgWFWx05TBihIAYkxcnHrg3kNdZmrK50YGJmYWVjZ2Dk4ubh5ePn4jSoqq4LzS4uSU40MjPUM9AwNjfXMy4syS1K9Uytts9VKi1OLPFNsE/Py1FLLUvNKbINTU/PUCoryC1KLSjJTi/XybM2/BkT8L4baLxT9Kh9i+wd7EIOJgfb2M4IsBgFXBwCyOIr+CwEAAA==";

/** Id of a source in `SDK_SEGMENT`. */
const SOURCE_ID = "2nAbcDEF0123456789xyzXYZ012";
/** A segment with events of SDKs, in gzip, in records of version 3. */
const SDK_SEGMENT =
  "H4sIAAAAAAAAA/saEPE/gpGBgYWBgSGAedMSBihwZ2BgYGb6z3KaoZCdgaGhLnN1pRO30NIZl/sZBJoFAtsV5v35JrGYQaChWqm0OLXIM0XJSikxL09JRyk3tbg4MT0VLJJfnqdUmw8yyvK/gAIj7w6YUTBrGBgY2LEay8DIxMzCysbOwcnFzcPLxy/x5/9/RkaoFlcHDFtTy1LzSpSslIJTU/OUasNBVm7hUocoh1hZUJRfUalrblRRWRWcX1qUnIpuBUSxCKbZ6UX5pQVgfrpSrTXIaNf/CshGY/WBkGtFQWpySWqKQmKeQn5SVmpySbR5LABPE95UcAEAAA==";
/** The messageId that the server made for some of its events. */
const MADE = Uint8Array.from({ length: 16 }, (_, index) => index);

/** Writes a segment to a new directory, appends records, and returns all records that are read. */
async function readAfter(gzip: string, appended: readonly EventRecord[]): Promise<EventRecord[]> {
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-earlier-"));
  const logger = pino({ level: "silent" });
  const segment = Bun.gunzipSync(Buffer.from(gzip, "base64"));
  await Bun.write(join(directory, "0000000000000000.segment"), segment);
  const writer = await openLogWriter({ directory, logger, codec: eventRecordCodec });
  await writer.appendAll(appended);
  await writer.close();
  const reader = await openLogReader({ directory, losses: new LossReport({ logger }) });
  reader.advance(writer.durable());
  const { records } = await reader.read(0, 1 << 20);
  const more = await reader.read(records.at(-1)!.sequence + 1, 1 << 20);
  await reader.close();
  rmSync(directory, { recursive: true });
  return [...records, ...more.records].map(({ bytes }) => decodeRecord(bytes));
}

test("a log of the version before events of SDKs is read, and continues with events of SDKs", async () => {
  const sent: JsonRecord = {
    ...{ format: "json", type: "identify", receivedAt: 1_764_000_000_001, sourceId: "2xyzSource" },
    ...{ clientAddress: "203.0.113.7", messageId: undefined, sentAt: undefined },
    json: Buffer.from('{"userId":"ann","messageId":"own"}'),
  };
  const decoded = await readAfter(SEGMENT, [sent]);

  const pixel = {
    ...{ receivedAt: 1_764_000_000_000, sourceId: "2xyzSource", clientAddress: "203.0.113.7" },
    messageId: Uint8Array.from({ length: 16 }, (_, index) => index),
  };
  expect(decoded.slice(0, 2)).toMatchObject([
    { ...pixel, type: "track", query: "writeKey=k&userId=ann&event=Seen&properties.n=7" },
    { ...pixel, type: "page", after: [{ log: 1, sequence: 42 }] },
  ]);
  const events = decoded.map((record) => JSON.parse(Buffer.from(eventOf(record).json).toString()));
  expect(events).toMatchObject([
    { type: "track", event: "Seen", userId: "ann", properties: { n: 7 } },
    { type: "page", userId: "ann" },
    { type: "identify", userId: "ann", messageId: "own" },
  ]);
});

test("a log with events of SDKs in records of version 3 is read, and continues with version 4", async () => {
  const sent: JsonRecord = {
    ...{ format: "json", type: "track", receivedAt: 1_764_000_000_001, sourceId: SOURCE_ID },
    ...{ clientAddress: "2001:db8::7", messageId: MADE, sentAt: 1_763_999_999_000 },
    json: Buffer.from('{"userId":"ann","event":"Bought"}'),
  };
  const decoded = await readAfter(SDK_SEGMENT, [sent]);
  const shared = { format: "json", receivedAt: 1_764_000_000_000, sourceId: SOURCE_ID };
  expect(decoded).toMatchObject([
    { ...shared, type: "identify", clientAddress: "203.0.113.7", messageId: undefined },
    {
      ...{ ...shared, type: "track", clientAddress: "2001:db8::7", messageId: MADE },
      ...{ sentAt: 1_763_999_999_000, after: [{ log: 1, sequence: 42 }] },
    },
    {
      ...{ ...shared, type: "group", sourceId: "2xyzSource", clientAddress: "proxy-7" },
      ...{ messageId: MADE, sentAt: 5 },
    },
    { ...shared, type: "alias", clientAddress: "", refused: "Expected an object" },
    { type: "track", sourceId: SOURCE_ID, clientAddress: "2001:db8::7", messageId: MADE },
  ]);
  const events = decoded.map((record) =>
    record.format === "json" && record.refused === undefined
      ? JSON.parse(Buffer.from(eventOf(record).json).toString())
      : undefined,
  );
  expect(events).toMatchObject([
    { type: "identify", userId: "ann", messageId: "own" },
    { type: "track", event: "Seen", messageId: "00010203-0405-0607-0809-0a0b0c0d0e0f" },
    { type: "group", groupId: "g" },
    undefined as never,
    { type: "track", event: "Bought", messageId: "00010203-0405-0607-0809-0a0b0c0d0e0f" },
  ]);
});

test("a record of version 3 tells its source and its refusal without being decoded", () => {
  const segment = Buffer.from(Bun.gunzipSync(Buffer.from(SDK_SEGMENT, "base64")));
  // Version, type and flags, length of a packed source id, length of a text without characters.
  const start = segment.lastIndexOf(Buffer.of(3, 5 | 64, 255, 32));
  expect(isRefusedRecord(segment.subarray(start))).toBe(true);
  expect(sourceOfRecord(segment.subarray(start))).toBe(SOURCE_ID);
});
