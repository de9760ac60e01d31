import {
  PIXEL_LEVELS_MAX,
  PIXEL_PARAMETERS_MAX,
  PIXEL_TARGET_BYTES_MAX,
} from "../../settings/limits.ts";
import { TEXT_GROWTH_MAX } from "./json-text.ts";

/**
 * Size in bytes of the part of the scratch buffer that holds decoded names and values.
 *
 * The scratch buffer is the working memory for parsing one query; code that uses it must not
 * `await`. Its parts begin at:
 * - 0: names and fragments that every event has
 * - QUERY: the query as the client sent it
 * - TEXTS: decoded names and values
 * - SECTIONS: three sections of the event
 * - JSON_START: the finished event
 */
const TEXTS_BYTES = PIXEL_TARGET_BYTES_MAX * (1 + TEXT_GROWTH_MAX);
/**
 * Number of bytes of punctuation that one object member adds to the JSON: quotes, colon, comma and
 * two brackets.
 */
const NODE_BYTES = 6;
const GAP_BYTES = 5;
/**
 * Maximum number of array elements in an event built from a pixel's record, including gaps
 * (elements that no parameter sets). Larger than `PIXEL_ARRAY_GAPS_MAX` allows, because older
 * records may have more gaps.
 */
export const ARRAY_ELEMENTS_MAX = 100_000;
/** Upper bound for the bytes of JSON of the fields that the server itself adds to every event. */
const FRAME_BYTES = 1_024;

export const QUERY = 1_024;
/**
 * Offset in the scratch buffer at which the decoded names and values begin. The byte before it is
 * reserved for the `&` that is added after a query of the maximum length.
 */
export const TEXTS = QUERY + PIXEL_TARGET_BYTES_MAX + 1;
export const SECTIONS = TEXTS + TEXTS_BYTES;
/**
 * Upper bound of the bytes of JSON that the parameters of one query produce. The `null`s that fill
 * gaps in arrays are not included.
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

/**
 * A text in the scratch buffer (preallocated working memory), given by two offsets. Spans are
 * compared, hashed and copied without making strings.
 */
export interface Span {
  start: number;
  end: number;
}

let kept = 0;

/**
 * Writes an ASCII text to the scratch buffer, where it stays for use in every event. Returns its
 * span. Throws `RangeError` when the part of the buffer for these texts is full.
 */
export function keep(text: string): Span {
  const start = kept;
  kept += bytes.write(text, start, "latin1");
  if (kept >= QUERY) throw new RangeError(`Expected fragments of less than ${QUERY} bytes`);
  return { start, end: kept };
}

/**
 * Copies the text between two offsets of the scratch buffer to offset `out`, and returns the offset
 * after the copy. Always writes at least 16 bytes, because a loop over the exact length costs a
 * mispredicted branch. Later writes overwrite the excess bytes.
 */
export function copySpan(start: number, end: number, out: number): number {
  words.setInt32(out, words.getInt32(start, true), true);
  words.setInt32(out + 4, words.getInt32(start + 4, true), true);
  words.setInt32(out + 8, words.getInt32(start + 8, true), true);
  words.setInt32(out + 12, words.getInt32(start + 12, true), true);
  if (end - start > 16) bytes.copyWithin(out + 16, start + 16, end);
  return out + end - start;
}

/**
 * Seed of the name hashes. It is random for each process, so that a client cannot prepare names
 * whose hashes collide.
 */
const SEED = (Math.random() * 0x1_0000_0000) | 0;

/**
 * Hashes the text between two offsets of the scratch buffer, four bytes at a time, because hashing
 * byte by byte would be much slower.
 */
export function hashOf(start: number, end: number): number {
  const length = end - start;
  if (length < 4) return mix(SEED ^ length ^ (words.getInt32(start, true) & maskOf(length)));
  let hash = mix(SEED ^ length ^ words.getInt32(start, true));
  for (let at = start + 4; at < end - 4; at += 4) hash = mix(hash ^ words.getInt32(at, true));
  return mix(hash ^ words.getInt32(end - 4, true));
}

export function mix(hash: number): number {
  const product = Math.imul(hash, 0x85ebca6b);
  return product ^ (product >>> 15);
}

export function isSame(start: number, end: number, otherStart: number, otherEnd: number): boolean {
  const length = end - start;
  if (length !== otherEnd - otherStart) return false;
  const shift = otherStart - start;
  const difference = words.getInt32(start, true) ^ words.getInt32(otherStart, true);
  if (length < 4) return (difference & maskOf(length)) === 0;
  if (difference !== 0) return false;
  for (let at = start + 4; at < end - 4; at += 4) {
    if (words.getInt32(at, true) !== words.getInt32(at + shift, true)) return false;
  }
  return words.getInt32(end - 4, true) === words.getInt32(otherEnd - 4, true);
}

/** Bit mask of the lowest `count` bytes of a 32-bit word; `count` is 0 to 3. */
function maskOf(count: number): number {
  return (1 << (count << 3)) - 1;
}
