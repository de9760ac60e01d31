export const SPACE = 0x20;
export const QUOTE = 0x22;
export const PERCENT = 0x25;
export const AMPERSAND = 0x26;
export const PLUS = 0x2b;
export const COMMA = 0x2c;
export const MINUS = 0x2d;
export const DOT = 0x2e;
export const ZERO = 0x30;
export const NINE = 0x39;
export const COLON = 0x3a;
export const EQUALS = 0x3d;
export const BRACKET_OPEN = 0x5b;
export const BACKSLASH = 0x5c;
export const BRACKET_CLOSE = 0x5d;
export const LETTER_N = 0x6e;
export const LETTER_U = 0x75;
export const BRACE_OPEN = 0x7b;
export const BRACE_CLOSE = 0x7d;

/**
 * For each byte, the value of the hexadecimal digit that it encodes in ASCII; -1 for a byte that is
 * no such digit.
 */
export const hexValue = new Int8Array(256).fill(-1);
/** The ASCII code of the lowercase hexadecimal digit for each value from 0 to 15. */
export const hexDigit = new Uint8Array(16);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  hexDigit[value] = digit.charCodeAt(0);
  hexValue[digit.charCodeAt(0)] = value;
  hexValue[digit.toUpperCase().charCodeAt(0)] = value;
}

/**
 * Writes an ASCII string at an offset, one byte per character. Writes only the low byte of a
 * character that is not ASCII. Returns the offset after the string.
 */
export function writeAscii(text: string, into: Uint8Array, offset: number): number {
  for (let i = 0; i < text.length; i++) into[offset + i] = text.charCodeAt(i);
  return offset + text.length;
}

/**
 * Writes `value` in decimal at `offset`, padded with zeros to `width` digits. Returns the offset
 * after the digits.
 */
export function writeDecimal(
  value: number,
  width: number,
  into: Uint8Array,
  offset: number,
): number {
  let rest = value;
  for (let at = offset + width - 1; at >= offset; at--) {
    into[at] = ZERO + (rest % 10);
    rest = (rest / 10) | 0;
  }
  return offset + width;
}

/** Returns a `Buffer` that shares the memory of `bytes`. */
export function asBuffer(bytes: Uint8Array): Buffer {
  if (bytes instanceof Buffer) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * The method of `Buffer` that decodes UTF-8. It can be called on any `Uint8Array`, without creating
 * a `Buffer` for it.
 */
const { utf8Slice } = Buffer.prototype;

/** Decodes bytes of UTF-8 from offset `start` to offset `end`. */
export function utf8Text(bytes: Uint8Array, start = 0, end = bytes.length): string {
  return utf8Slice.call(bytes, start, end);
}
