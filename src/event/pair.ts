import { AMPERSAND, BACKSLASH, DOT, EQUALS, PERCENT, PLUS, QUOTE, SPACE } from "../json/bytes.ts";
import { PIXEL_LEVELS_MAX } from "../settings/limits.ts";
import { writeText } from "./text/json-text.ts";
import { percentDecode } from "./text/percent.ts";
import { bytes, QUERY, TEXTS } from "./text/scratch.ts";

/**
 * Reads the parameters of a query string one after the other. A name is split at its dots into
 * components. The offsets of a name or value point into the query itself, or into a decoded copy
 * when it needs decoding.
 */

/** The pair (name and value of a query parameter) that `readPair` read last. */
export const pair = {
  /**
   * Number of components in the parameter's name. 0 means that the parameter has no name and is
   * ignored; `PIXEL_LEVELS_MAX` + 1 means that it has too many components.
   */
  levels: 0,
  /** Offset, in the scratch buffer, at which the value as it was sent (not decoded) starts. */
  start: 0,
  end: 0,
  /** Whether the value must be decoded or escaped before it can be used as JSON text. */
  encoded: false,
};

/** For each component of the parameter's name, the offset in the scratch buffer where it starts. */
export const starts = new Int32Array(PIXEL_LEVELS_MAX + 1);
export const ends = new Int32Array(PIXEL_LEVELS_MAX + 1);

/** Offset in the scratch buffer where `decode` puts the next decoded text. */
let textEnd = TEXTS;

const PLAIN = 0;
const SPLITS = 1;
const STOPS = 2;
const ENCODED = 3;
const classes = new Uint8Array(256).fill(ENCODED, 0, SPACE).fill(ENCODED, 0x80);
for (const byte of [PERCENT, PLUS, QUOTE, BACKSLASH]) classes[byte] = ENCODED;
classes[AMPERSAND] = STOPS;
const nameClasses = classes.slice();
nameClasses[EQUALS] = STOPS;
nameClasses[DOT] = SPLITS;

/** A query: a string, or the ASCII bytes between two offsets of `bytes`. */
export type QueryText = string | { bytes: Uint8Array; start: number; end: number };

/**
 * Method `copy` of `Buffer`. It is called on a plain `Uint8Array`, which works without creating a
 * `Buffer` for it.
 */
const { copy } = Buffer.prototype;

/**
 * Copies a query string into the scratch buffer (preallocated working memory). Returns the offset
 * after the copy. The caller makes sure that the query has at most 32,768 characters, all below
 * U+0100.
 */
export function loadQuery(query: QueryText): number {
  const length =
    typeof query === "string"
      ? bytes.write(query, QUERY, "latin1")
      : copy.call(query.bytes, bytes, QUERY, query.start, query.end);
  const end = QUERY + length;
  bytes[end] = AMPERSAND;
  textEnd = TEXTS;
  return end;
}

/**
 * Reads the query parameter at offset `from` into `pair`, and returns the offset of the next one.
 */
export function readPair(from: number): number {
  let levels = 0;
  let start = from;
  let at = from;
  // Splits the name into components. This loop stays in one function with the reading of the value,
  // because a function call per pair costs measurable time.
  for (;;) {
    let kind = nameClasses[bytes[at]!]!;
    while (kind === PLAIN) kind = nameClasses[bytes[++at]!]!;
    if (kind === ENCODED) {
      at = readEncodedName(from, at);
      break;
    }
    if (levels <= PIXEL_LEVELS_MAX) {
      starts[levels] = start;
      ends[levels++] = at;
    }
    if (kind === STOPS) {
      pair.levels = at === from ? 0 : levels;
      break;
    }
    start = ++at;
  }

  start = bytes[at] === EQUALS ? at + 1 : at;
  at = start;
  let kind = classes[bytes[at]!]!;
  while (kind === PLAIN) kind = classes[bytes[++at]!]!;
  pair.encoded = kind === ENCODED;
  if (kind === ENCODED) while (bytes[at] !== AMPERSAND) at++;
  pair.start = start;
  pair.end = at;
  return at + 1;
}

/**
 * Reads a name with percent-encoded characters. Decodes it before splitting it, so that `%2E`
 * separates components like a dot. `encodedAt` is the offset of the first encoded character.
 * Returns the offset after the name.
 */
function readEncodedName(from: number, encodedAt: number): number {
  let stop = encodedAt;
  while (nameClasses[bytes[stop]!] !== STOPS) stop++;
  decode(from, stop);
  let start = text.start;
  let levels = 0;
  for (let at = start; at <= text.end && levels <= PIXEL_LEVELS_MAX; at++) {
    if (at < text.end && bytes[at] !== DOT) continue;
    starts[levels] = start;
    ends[levels] = at;
    levels++;
    start = at + 1;
  }
  pair.levels = levels;
  return stop;
}

/** Start and end offsets of the JSON text that `decode` wrote last to the scratch buffer. */
export const text = { start: 0, end: 0 };

/**
 * Decodes the name or value between two offsets of the scratch buffer into JSON text, and sets
 * `text` to the offsets of this JSON text.
 */
export function decode(from: number, end: number): void {
  const decodedEnd = percentDecode(bytes, from, end, textEnd);
  if (decodedEnd >= 0) {
    text.start = textEnd;
    textEnd = decodedEnd;
  } else {
    text.start = -decodedEnd;
    textEnd = writeText(bytes, textEnd, -decodedEnd, -decodedEnd);
  }
  text.end = textEnd;
}

/** Decodes the JSON text between two offsets of the scratch buffer into a string. */
export function textOf(start: number, end: number): string {
  const inside = bytes.toString("utf8", start, end);
  return inside.includes("\\") ? JSON.parse(`"${inside}"`) : inside;
}
