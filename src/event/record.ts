import { asBuffer } from "../json/bytes.ts";
import type { RecordCodec } from "../log/event-log.ts";
import { HEAD_BYTES, TIME_AT } from "./record/head.ts";
import type { JsonRecord } from "./record/json-record.ts";
import { JSON_RECORD_VERSION, jsonRecordCodec } from "./record/json-record-4.ts";
import { jsonReaderOf } from "./record/json-records.ts";
import {
  decodePixelRecord,
  EncodedPixelRecord,
  PIXEL_HEAD_BYTES,
  type PixelRecord,
  pixelRecordCodec,
  readPixelRecord,
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

/**
 * Thrown for a record whose format version is newer than this executable can read. Any other error
 * of a function that decodes a record means that the record is damaged.
 */
export class NewerRecordError extends RangeError {
  override readonly name = "NewerRecordError";

  constructor(version: number) {
    super(`Expected a record of version 1 to ${JSON_RECORD_VERSION}, got ${version}`);
  }
}

/** Whether an encoded record has a newer format version than this executable can read. */
export const isNewerRecord = (bytes: Uint8Array): boolean => bytes[0]! > JSON_RECORD_VERSION;

/**
 * Decodes a record that `eventRecordCodec` encoded. The result shares no memory with `bytes`.
 * Throws `NewerRecordError` if the format version is too new, `RangeError` for a damaged record.
 */
export function decodeRecord(bytes: Uint8Array): EventRecord {
  return jsonReaderOf(bytes)?.decode(asBuffer(bytes)) ?? decodePixelRecord(known(bytes));
}

/**
 * Reads a record that `eventRecordCodec` encoded. The address, query and messageId of a pixel's
 * record are decoded at each access. The result shares no memory with `bytes`. Throws the same
 * errors as `decodeRecord`.
 */
export function readRecord(bytes: Uint8Array): EventRecord {
  return jsonReaderOf(bytes)?.decode(asBuffer(bytes)) ?? readPixelRecord(known(bytes));
}

function known(bytes: Uint8Array): Uint8Array {
  if (isNewerRecord(bytes)) throw new NewerRecordError(bytes[0]!);
  return bytes;
}

/** Returns the approximate number of bytes of memory that a record takes. */
export function recordBytes(record: EventRecord): number {
  if (record.format === "json") return record.json.length;
  return record instanceof EncodedPixelRecord ? record.bytes.length : record.query.length;
}

export const isJson = (bytes: Uint8Array): boolean => jsonReaderOf(bytes) !== undefined;

/** Returns the source id of an encoded record; undefined if its format version is too new. */
export function sourceOfRecord(bytes: Uint8Array): string | undefined {
  if (isNewerRecord(bytes)) return undefined;
  const buffer = asBuffer(bytes);
  return jsonReaderOf(bytes)?.sourceId(buffer) ?? sourceOfPixelRecord(buffer);
}

/**
 * Returns the time of receipt in an encoded record, in milliseconds since the epoch; NaN when
 * `bytes` is too short for a record. Also works for format versions that are too new to decode.
 */
export function timeOfRecord(bytes: Uint8Array): number {
  const isPixel = !isJson(bytes) && !isNewerRecord(bytes);
  if (bytes.length < (isPixel ? PIXEL_HEAD_BYTES : HEAD_BYTES)) return Number.NaN;
  return new DataView(bytes.buffer, bytes.byteOffset).getFloat64(TIME_AT, true);
}
