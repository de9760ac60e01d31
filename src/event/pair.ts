import { PIXEL_LEVELS_MAX } from "../settings/limits.ts";
import { AMPERSAND, BACKSLASH, DOT, EQUALS, PERCENT, PLUS, QUOTE, SPACE } from "./text/bytes.ts";
import { writeText } from "./text/json-text.ts";
import { percentDecode } from "./text/percent.ts";
import { bytes, QUERY, TEXTS } from "./text/scratch.ts";

/**
 * Reads a query pair by pair: the components of the name, between its dots, and the span of the
 * value. Most names and values need no decoding and stay where they are; only the others are
 * copied.
 */

/** The pair that was read last. */
export const pair = {
  /**
   * Number of the name's components: 0 for a pair that is ignored, at most one more than the limit.
   */
  levels: 0,
  /** Where the value starts, as the client sent it. */
  start: 0,
  end: 0,
  /** Whether the value must be decoded or escaped before it is JSON text. */
  encoded: false,
};

/** Where each component of the name starts and ends in the scratch. */
export const starts = new Int32Array(PIXEL_LEVELS_MAX + 1);
export const ends = new Int32Array(PIXEL_LEVELS_MAX + 1);

/** Where the next decoded text goes. */
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

/** Takes a query of at most 32,768 characters, all below U+0100; returns where it ends. */
export function loadQuery(query: string): number {
  const end = QUERY + bytes.write(query, QUERY, "latin1");
  bytes[end] = AMPERSAND;
  textEnd = TEXTS;
  return end;
}

/** Reads the pair at `from` into `pair`, and returns where the next one starts. */
export function readPair(from: number): number {
  let levels = 0;
  let start = from;
  let at = from;
  // The name, component by component: in one function with the value, for a call per pair shows.
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

/** A name is decoded before it is split, so that `%2E` separates components like a dot. */
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

/** Span of the JSON text that was decoded last. */
export const text = { start: 0, end: 0 };

/** Decodes the name or value in `[from, end)`, and leaves its JSON text in `text`. */
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

/** The string that a JSON text in the scratch stands for. */
export function textOf(start: number, end: number): string {
  const inside = bytes.toString("utf8", start, end);
  return inside.includes("\\") ? JSON.parse(`"${inside}"`) : inside;
}
