import { hexValue, PERCENT, PLUS, SPACE } from "../../json/bytes.ts";
import { escapes } from "./json-text.ts";

/**
 * Decodes a percent-encoded name or value: `+` becomes a space, a malformed escape stays unchanged.
 * Writes at most as many bytes as it reads to the same array, from `into`. Returns the offset after
 * them, negated if they may need conversion by `writeText` (check with `isText`).
 */
export function percentDecode(bytes: Uint8Array, from: number, end: number, into: number): number {
  let out = into;
  let at = from;
  let special = 0;
  while (at < end) {
    let byte = bytes[at++]!;
    if (byte === PERCENT) {
      // The byte at `end` is a separator, which is no hexadecimal digit. So reading beyond the end
      // is harmless.
      const value = (hexValue[bytes[at]!]! << 4) | hexValue[bytes[at + 1]!]!;
      if (value >= 0) {
        byte = value;
        at += 2;
      }
    } else if (byte === PLUS) {
      byte = SPACE;
    }
    special |= escapes[byte]!;
    bytes[out++] = byte;
  }
  return special === 0 ? out : -out;
}
