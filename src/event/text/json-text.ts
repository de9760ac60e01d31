import { BACKSLASH, hexDigit, LETTER_U, SPACE, ZERO } from "../../json/bytes.ts";

/**
 * JSON text is the content of a JSON string without the quotes, exactly as `JSON.stringify` writes
 * it. Parameter names are stored and compared in this form: two names are equal if and only if
 * their JSON texts are equal.
 */

/** Maximum number of bytes of JSON text for one decoded byte: a zero byte becomes `\u0000`. */
export const TEXT_GROWTH_MAX = 6;

/**
 * For each byte value, how the byte is written in a JSON string: 0 if unchanged; the second
 * character of the byte's short escape, such as `\n`; LETTER_U if the byte needs an escape such as
 * `\u0001`; NOT_ASCII if the byte belongs to a UTF-8 sequence of several bytes.
 */
export const escapes = new Uint8Array(256).fill(LETTER_U, 0, SPACE);
for (const pair of ['""', "\\\\", "\bb", "\ff", "\nn", "\rr", "\tt"]) {
  escapes[pair.charCodeAt(0)] = pair.charCodeAt(1);
}
const NOT_ASCII = 1;
escapes.fill(NOT_ASCII, 0x80);

/**
 * Whether decoded bytes can be used as JSON text unchanged: they are valid UTF-8, and none needs an
 * escape.
 */
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
 * Converts percent-decoded bytes to JSON text, the content of a JSON string without quotes, exactly
 * as `JSON.stringify` writes it. Reads the bytes from `from` to `end` as UTF-8, and replaces
 * invalid sequences by U+FFFD. Writes to the same array at offset `into`, which must not be before
 * `end`. Returns the offset after the written text.
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
 * Returns the length in bytes of the UTF-8 sequence at `at`, whose first byte is not ASCII. For an
 * invalid sequence, returns the negated number of bytes that one U+FFFD replaces (Unicode's
 * "maximal subpart", as in the WHATWG encoding standard).
 */
function sequenceLength(bytes: Uint8Array, at: number, end: number): number {
  const lead = bytes[at]!;
  if (lead < 0xc2 || lead > 0xf4) return -1;
  const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  // The check of the second byte excludes overlong forms, surrogates, and code points above
  // U+10FFFF.
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
