import { PIXEL_ARRAY_INDEX_MAX, PIXEL_NUMBER_DIGITS_MAX } from "../../settings/limits.ts";
import { DOT, MINUS, NINE, ZERO } from "./bytes.ts";

/**
 * Whether a value is written as a number: `-?(0|[1-9][0-9]*)(\.[0-9]+)?` with at most 15
 * significant digits, which a double keeps exactly. Leading zeros are not significant. A text of
 * this form is a JSON number as it stands.
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
 * The array index that a component of a name stands for: a canonical integer from 0 to 999. -1 when
 * the component is a key.
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
