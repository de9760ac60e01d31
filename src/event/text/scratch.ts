import {
  PIXEL_ARRAY_ELEMENTS_MAX,
  PIXEL_LEVELS_MAX,
  PIXEL_PARAMETERS_MAX,
  PIXEL_TARGET_BYTES_MAX,
} from "../../settings/limits.ts";
import { TEXT_GROWTH_MAX } from "./json-text.ts";

/**
 * The working memory of the scanner, allocated once and sized by the limits, so that parsing
 * allocates nothing. It holds one query at a time; nothing that uses it may await.
 *
 * `[0, QUERY)` holds names and fragments that every event has, `[QUERY, TEXTS)` the query as the
 * client sent it, `[TEXTS, SECTIONS)` the names and values that needed decoding, `[SECTIONS,
 * JSON_START)` three sections of the event; the finished event follows.
 */
const TEXTS_BYTES = PIXEL_TARGET_BYTES_MAX * (1 + TEXT_GROWTH_MAX);
/** Quotes, colon, comma and two brackets of a node; a gap in an array is `null,`. */
const NODE_BYTES = 6;
const GAP_BYTES = 5;
/** Bytes of the fields that the service adds to every event. */
const FRAME_BYTES = 1_024;

export const QUERY = 1_024;
/** One byte more for the `&` that ends the last pair. */
export const TEXTS = QUERY + PIXEL_TARGET_BYTES_MAX + 1;
export const SECTIONS = TEXTS + TEXTS_BYTES;
/** Most bytes of the JSON that one query's parameters make, gaps in arrays left aside. */
export const SECTION_BYTES =
  PIXEL_TARGET_BYTES_MAX * TEXT_GROWTH_MAX + PIXEL_PARAMETERS_MAX * PIXEL_LEVELS_MAX * NODE_BYTES;
export const JSON_START = SECTIONS + 3 * SECTION_BYTES;

export const bytes = Buffer.allocUnsafeSlow(
  JSON_START + SECTION_BYTES + PIXEL_ARRAY_ELEMENTS_MAX * GAP_BYTES + FRAME_BYTES,
);

/** Little-endian words of the scratch at any offset. */
export const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
