import { BACKSLASH, hexDigit, LETTER_U, SPACE, ZERO } from "../../json/bytes.ts";

/**
 * JSON text is the content of a JSON string without the quotes, exactly as `JSON.stringify` writes
 * it. Parameter names are stored and compared in this form: two names are equal if and only if
 * their JSON texts are equal.
 */

/** Maximum number of bytes of JSON text for one decoded byte: a zero byte becomes `\u0000`. */
export const TEXT_GROWTH_MAX = 6;

/**
 * For each byte value, how a JSON string contains it:
 * - 0: unchanged
 * - LETTER_U: as an escape such as `\u0001`
 * - NOT_ASCII: as part of a UTF-8 sequence of several bytes
 * - another value: as an escape with this second character, such as `\n`
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
 * Converts percent-decoded bytes to the content of a JSON string, as `JSON.stringify` does. Invalid
 * UTF-8 becomes U+FFFD. Returns the offset after the text, which begins at `into`; `into` must not
 * be before `end`.
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
 * Returns the length in bytes of the UTF-8 sequence at `at`, which must not begin with an ASCII
 * byte. If it is invalid, returns the negated number of bytes that one U+FFFD replaces (WHATWG
 * encoding standard).
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
