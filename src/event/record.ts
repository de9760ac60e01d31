import type { RecordCodec } from "../log/event-log.ts";
import { asBuffer, HEAD_BYTES, TIME_AT } from "./record/head.ts";
import type { JsonRecord } from "./record/json-record.ts";
import { jsonRecordCodec } from "./record/json-record-4.ts";
import { jsonReaderOf } from "./record/json-records.ts";
import {
  decodePixelRecord,
  EncodedPixelRecord,
  encodedPixelRecord,
  PIXEL_HEAD_BYTES,
  type PixelRecord,
  pixelRecordCodec,
  sourceOfPixelRecord,
} from "./record/pixel-record.ts";

export { type EventType, eventTypes } from "./record/event-type.ts";
export type { JsonRecord } from "./record/json-record.ts";
export { isRefusedRecord } from "./record/json-records.ts";
export type { LogEnd } from "./record/log-ends.ts";
export type { PixelRecord } from "./record/pixel-record.ts";

/** An event as the event log stores it: a pixel's query, or the JSON that an SDK sent. */
export type EventRecord = PixelRecord | JsonRecord;

export const eventRecordCodec: RecordCodec<EventRecord> = {
  bytesMax(record) {
    return record.format === "json"
      ? jsonRecordCodec.bytesMax(record)
      : pixelRecordCodec.bytesMax(record);
  },
  encode(record, into, offset) {
    return record.format === "json"
      ? jsonRecordCodec.encode(record, into, offset)
      : pixelRecordCodec.encode(record, into, offset);
  },
};

/** Decodes a record that `eventRecordCodec` encoded. The result shares no memory with `bytes`. */
export function decodeRecord(bytes: Uint8Array): EventRecord {
  return jsonReaderOf(bytes)?.decode(asBuffer(bytes)) ?? decodePixelRecord(bytes);
}

/**
 * Returns a record that `eventRecordCodec` encoded, for building its event: what the event does not
 * need is decoded when it is asked for. The result shares no memory with `bytes`.
 */
export function encodedRecord(bytes: Uint8Array): EventRecord {
  return jsonReaderOf(bytes)?.decode(asBuffer(bytes)) ?? encodedPixelRecord(bytes);
}

/** Approximate bytes of a record in memory. */
export function recordBytes(record: EventRecord): number {
  if (record.format === "json") return record.json.length;
  return record instanceof EncodedPixelRecord ? record.bytes.length : record.query.length;
}

export const isJson = (bytes: Uint8Array): boolean => jsonReaderOf(bytes) !== undefined;

/** Returns the source id of a record that `eventRecordCodec` encoded. */
export function sourceOfRecord(bytes: Uint8Array): string {
  const buffer = asBuffer(bytes);
  return jsonReaderOf(bytes)?.sourceId(buffer) ?? sourceOfPixelRecord(buffer);
}

/**
 * Returns the time at which an encoded record was received, in milliseconds since the epoch; NaN
 * when the bytes are no valid record.
 */
export function timeOfRecord(bytes: Uint8Array): number {
  if (bytes.length < (isJson(bytes) ? HEAD_BYTES : PIXEL_HEAD_BYTES)) return Number.NaN;
  return new DataView(bytes.buffer, bytes.byteOffset).getFloat64(TIME_AT, true);
}
