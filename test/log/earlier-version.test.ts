import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { eventOf } from "../../src/event/event.ts";
import { decodeRecord, eventRecordCodec, type JsonRecord } from "../../src/event/record.ts";
import { openLogReader } from "../../src/log/reader.ts";
import { openLogWriter } from "../../src/log/writer.ts";

/** A segment with two pixels, in gzip, that the version before events of SDKs wrote. */
const SEGMENT =
  "H4sIAAAAAAAAA/saEPE/g4GBgZGBgWFWx05TBihIAYkxcnHrg3kNdZmrK50YGJmYWVjZ2Dk4ubh5ePn4jSoqq4LzS4uSU40MjPUM9AwNjfXMy4syS1K9Uytts9VKi1OLPFNsE/Py1FLLUvNKbINTU/PUCoryC1KLSjJTi/XybM2/BkT8L4baLxT9Kh9i+wd7EIOJgfb2M4IsBgFXBwCyOIr+CwEAAA==";

test("a log of the version before events of SDKs is read, and goes on with events of SDKs", async () => {
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-earlier-"));
  const logger = pino({ level: "silent" });
  const segment = Bun.gunzipSync(Buffer.from(SEGMENT, "base64"));
  await Bun.write(join(directory, "0000000000000000.segment"), segment);
  const writer = await openLogWriter({ directory, logger, codec: eventRecordCodec });
  const sent: JsonRecord = {
    ...{ format: "json", type: "identify", receivedAt: 1_764_000_000_001, sourceId: "2xyzSource" },
    ...{ clientAddress: "203.0.113.7", messageId: undefined, sentAt: undefined },
    json: Buffer.from('{"userId":"ann","messageId":"own"}'),
  };
  await writer.append(sent);
  await writer.close();
  const reader = await openLogReader({ directory, logger });
  reader.advance(writer.durable());
  const { records } = await reader.read(0, 1 << 20);
  const more = await reader.read(records.at(-1)!.sequence + 1, 1 << 20);
  const decoded = [...records, ...more.records].map(({ bytes }) => decodeRecord(bytes));
  await reader.close();
  rmSync(directory, { recursive: true });

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
