import {
  PIXEL_LEVELS_MAX,
  PIXEL_PARAMETERS_MAX,
  PIXEL_TARGET_BYTES_MAX,
} from "../../settings/limits.ts";
import { TEXT_GROWTH_MAX } from "./json-text.ts";

/**
 * Size in bytes of the part of the scratch buffer that holds decoded names and values.
 *
 * The scratch buffer is the working memory for parsing one query. It is allocated once, so that
 * parsing allocates nothing. Code that uses it must not `await`. Its parts are: names and fragments
 * that every event has, from 0; the query as the client sent it, from QUERY; decoded names and
 * values, from TEXTS; three sections of the event, from SECTIONS; the finished event, from
 * JSON_START.
 */
const TEXTS_BYTES = PIXEL_TARGET_BYTES_MAX * (1 + TEXT_GROWTH_MAX);
/**
 * Number of bytes of punctuation that one object member adds to the JSON: quotes, colon, comma and
 * two brackets.
 */
const NODE_BYTES = 6;
const GAP_BYTES = 5;
/**
 * Maximum number of array elements in one event, including gaps (elements that no parameter sets).
 * The ingest endpoint limits the gaps of a query further (`PIXEL_ARRAY_GAPS_MAX`), but a record in
 * the event log may have this many.
 */
export const ARRAY_ELEMENTS_MAX = 100_000;
/** Upper bound, in bytes of JSON, of the fields that the server itself adds to every event. */
const FRAME_BYTES = 1_024;

export const QUERY = 1_024;
/**
 * Offset in the scratch buffer of the decoded names and values. The byte before it is for the `&`
 * that is added after the last parameter of the longest query.
 */
export const TEXTS = QUERY + PIXEL_TARGET_BYTES_MAX + 1;
export const SECTIONS = TEXTS + TEXTS_BYTES;
/**
 * Upper bound, in bytes, of the JSON that the parameters of one query produce, without the `null`s
 * for missing array elements.
 */
export const SECTION_BYTES =
  PIXEL_TARGET_BYTES_MAX * TEXT_GROWTH_MAX + PIXEL_PARAMETERS_MAX * PIXEL_LEVELS_MAX * NODE_BYTES;
export const JSON_START = SECTIONS + 3 * SECTION_BYTES;

export const bytes = Buffer.allocUnsafeSlow(
  JSON_START + SECTION_BYTES + ARRAY_ELEMENTS_MAX * GAP_BYTES + FRAME_BYTES,
);

const plainBytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Returns a copy of the bytes between two offsets of the scratch buffer. */
export function copyOf(start: number, end: number): Uint8Array {
  // `slice` takes half as long again.
  return new Uint8Array(plainBytes.subarray(start, end));
}

/** View of the scratch buffer for 32-bit little-endian numbers at any offset. */
export const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
