import type { JsonRecordReader } from "./json-record.ts";
import { jsonRecord3 } from "./json-record-3.ts";
import { JSON_RECORD_VERSION, jsonRecord4 } from "./json-record-4.ts";

const EARLIER_VERSION = 3;

/**
 * Returns the functions that read records in the format version of the encoded record `bytes`.
 * Returns undefined for a pixel's record, and for a version that this release does not know.
 */
export function jsonReaderOf(bytes: Uint8Array): JsonRecordReader | undefined {
  if (bytes[0] === JSON_RECORD_VERSION) return jsonRecord4;
  return bytes[0] === EARLIER_VERSION ? jsonRecord3 : undefined;
}

/** Whether an encoded record of any version holds an event that was refused at its ingestion. */
export function isRefusedRecord(bytes: Uint8Array): boolean {
  return jsonReaderOf(bytes)?.isRefused(bytes) ?? false;
}
