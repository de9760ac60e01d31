import { DOT, MINUS, NINE, ZERO } from "../../json/bytes.ts";
import { PIXEL_ARRAY_INDEX_MAX, PIXEL_NUMBER_DIGITS_MAX } from "../../settings/limits.ts";

/**
 * Whether the text between two offsets is written to the event as a number: a JSON number without
 * exponent and with at most 15 significant digits, because a double keeps these exactly.
 */
export function isNumber(bytes: Uint8Array, start: number, end: number): boolean {
  let at = start;
  if (at < end && bytes[at] === MINUS) at++;
  if (at === end) return false;

  const whole = at;
  let digits = 0;
  while (at < end && isDigit(bytes[at]!)) {
    if (digits > 0 || bytes[at] !== ZERO) digits++;
    at++;
  }
  if (at === whole) return false;
  if (bytes[whole] === ZERO && at > whole + 1) return false;

  if (at < end) {
    if (bytes[at] !== DOT) return false;
    const fraction = ++at;
    while (at < end && isDigit(bytes[at]!)) {
      if (digits > 0 || bytes[at] !== ZERO) digits++;
      at++;
    }
    if (at === fraction || at < end) return false;
  }
  return digits <= PIXEL_NUMBER_DIGITS_MAX;
}

const INDEX_DIGITS_MAX = String(PIXEL_ARRAY_INDEX_MAX).length;

/**
 * Parses a component of a parameter name as an array index: an integer from 0 to 999 without
 * leading zeros. Returns -1 for any other component, which is an object key.
 */
export function arrayIndex(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  if (length < 1 || length > INDEX_DIGITS_MAX) return -1;
  if (length > 1 && bytes[start] === ZERO) return -1;
  let index = 0;
  for (let at = start; at < end; at++) {
    if (!isDigit(bytes[at]!)) return -1;
    index = index * 10 + bytes[at]! - ZERO;
  }
  return index <= PIXEL_ARRAY_INDEX_MAX ? index : -1;
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE;
}
