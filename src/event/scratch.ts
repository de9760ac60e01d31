import {
  PIXEL_ARRAY_ELEMENTS_MAX,
  PIXEL_LEVELS_MAX,
  PIXEL_PARAMETERS_MAX,
  PIXEL_TARGET_BYTES_MAX,
} from "../limits.ts";
import { TEXT_GROWTH_MAX } from "./text.ts";

/**
 * The working memory of the scanner, allocated once and sized by the limits, so that parsing
 * allocates nothing. One query at a time: nothing that uses it awaits.
 *
 * `[0, QUERY)` holds names and fragments that every event has, `[QUERY, TEXTS)` the query as it was
 * sent, `[TEXTS, JSON_START)` the names and values that needed decoding, then comes the event.
 */
const TEXTS_BYTES = PIXEL_TARGET_BYTES_MAX * (1 + TEXT_GROWTH_MAX);
/** Quotes, colon, comma and two brackets of a node; a gap in an array is `null,`. */
const NODE_BYTES = 6;
const GAP_BYTES = 5;
/** The fields that the service adds. */
const FRAME_BYTES = 1_024;

export const QUERY = 1_024;
/** One byte more for the `&` that ends the last pair. */
export const TEXTS = QUERY + PIXEL_TARGET_BYTES_MAX + 1;
export const JSON_START = TEXTS + TEXTS_BYTES;

export const bytes = Buffer.allocUnsafeSlow(
  JSON_START +
    PIXEL_TARGET_BYTES_MAX * TEXT_GROWTH_MAX +
    PIXEL_PARAMETERS_MAX * PIXEL_LEVELS_MAX * NODE_BYTES +
    PIXEL_ARRAY_ELEMENTS_MAX * GAP_BYTES +
    FRAME_BYTES,
);

/** A text that stays in the scratch for good, so that copying it is copying a span. */
export interface Span {
  start: number;
  end: number;
}
let kept = 0;

/** Keeps an ASCII text in the scratch. */
export function keep(text: string): Span {
  const start = kept;
  kept += bytes.write(text, start, "latin1");
  if (kept > QUERY) throw new RangeError(`Expected fragments of at most ${QUERY} bytes`);
  return { start, end: kept };
}

/** Spans from this length on are copied by the engine: a call costs as much as 28 bytes. */
const COPY_BYTES_MIN = 28;

/** Copies a span of the scratch to `out`, and returns the offset after it. */
export function copySpan(start: number, end: number, out: number): number {
  if (end - start >= COPY_BYTES_MIN) {
    bytes.copyWithin(out, start, end);
    return out + end - start;
  }
  let to = out;
  for (let at = start; at < end; at++) bytes[to++] = bytes[at]!;
  return to;
}

/** Little-endian words of the scratch at any offset. */
export const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
