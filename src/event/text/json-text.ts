import { BACKSLASH, hexDigit, LETTER_U, SPACE, ZERO } from "./bytes.ts";

/**
 * Writes decoded bytes as the inside of a JSON string, exactly as `JSON.stringify` would. Names are
 * kept and compared in this form: two names are equal exactly when their JSON texts are.
 */

/** The inside of a JSON string is at most this many times as long as the bytes it stands for. */
export const TEXT_GROWTH_MAX = 6;

/**
 * Second character of a short escape; LETTER_U for the long form; NOT_ASCII; 0 for a byte that
 * stands for itself.
 */
export const escapes = new Uint8Array(256).fill(LETTER_U, 0, SPACE);
for (const pair of ['""', "\\\\", "\bb", "\ff", "\nn", "\rr", "\tt"]) {
  escapes[pair.charCodeAt(0)] = pair.charCodeAt(1);
}
const NOT_ASCII = 1;
escapes.fill(NOT_ASCII, 0x80);

/** Whether decoded bytes are JSON text as they are: valid UTF-8, with nothing to escape. */
export function isText(bytes: Uint8Array, from: number, end: number): boolean {
  let at = from;
  while (at < end) {
    const byte = bytes[at]!;
    const length = byte >= 0x80 ? sequenceLength(bytes, at, end) : escapes[byte] === 0 ? 1 : 0;
    if (length <= 0) return false;
    at += length;
  }
  return true;
}

/**
 * Reads `bytes[from, end)` as UTF-8, invalid sequences as U+FFFD, and writes the JSON text to
 * `bytes` at `into`, past `end`. Returns the end of what it wrote.
 */
export function writeText(bytes: Uint8Array, from: number, end: number, into: number): number {
  let out = into;
  let at = from;
  while (at < end) {
    const byte = bytes[at]!;
    if (byte >= 0x80) {
      const length = sequenceLength(bytes, at, end);
      if (length > 0) {
        for (let i = 0; i < length; i++) bytes[out++] = bytes[at++]!;
      } else {
        bytes[out++] = 0xef;
        bytes[out++] = 0xbf;
        bytes[out++] = 0xbd;
        at -= length;
      }
      continue;
    }
    at++;
    const second = escapes[byte]!;
    if (second === 0) {
      bytes[out++] = byte;
      continue;
    }
    bytes[out++] = BACKSLASH;
    bytes[out++] = second;
    if (second === LETTER_U) {
      bytes[out++] = ZERO;
      bytes[out++] = ZERO;
      bytes[out++] = hexDigit[byte >> 4]!;
      bytes[out++] = hexDigit[byte & 15]!;
    }
  }
  return out;
}

/**
 * Length of the UTF-8 sequence at `at`, whose first byte is not ASCII; negative, the length of
 * what one U+FFFD replaces, if it is invalid (Unicode's "maximal subpart", as WHATWG decodes).
 */
function sequenceLength(bytes: Uint8Array, at: number, end: number): number {
  const lead = bytes[at]!;
  if (lead < 0xc2 || lead > 0xf4) return -1;
  const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  // The second byte excludes overlong forms, surrogates and what lies above U+10FFFF.
  let lowest = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  let highest = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  for (let i = 1; i < length; i++) {
    const next = at + i < end ? bytes[at + i]! : 0;
    if (next < lowest || next > highest) return -i;
    lowest = 0x80;
    highest = 0xbf;
  }
  return length;
}
