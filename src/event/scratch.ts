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
 * `[0, QUERY)` holds the names of the event's own fields, `[QUERY, TEXTS)` the query as it was
 * sent, `[TEXTS, JSON_START)` the names and values that needed decoding, then comes the event.
 */
const TEXTS_BYTES = PIXEL_TARGET_BYTES_MAX * (1 + TEXT_GROWTH_MAX);
/** Quotes, colon, comma and two brackets of a node; a gap in an array is `null,`. */
const NODE_BYTES = 6;
const GAP_BYTES = 5;
/** The fields that the service adds. */
const FRAME_BYTES = 1_024;

export const QUERY = 256;
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

/** Little-endian words of the scratch at any offset. */
export const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
