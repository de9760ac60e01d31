import { hexValue, PERCENT, PLUS, SPACE } from "./bytes.ts";
import { escapes } from "./text.ts";

/**
 * Undoes the encoding of one name or value (WHATWG `application/x-www-form-urlencoded`): `+` is
 * a space, `%XX` a byte, a malformed escape stays as it is. Reads `bytes[from, end)` and writes to
 * `bytes` at `into`, never more than it read. Returns the end of what it wrote; negated when that
 * is not its own JSON text, and has to go through `writeText`.
 */
export function percentDecode(bytes: Uint8Array, from: number, end: number, into: number): number {
  let out = into;
  let at = from;
  let special = 0;
  while (at < end) {
    let byte = bytes[at++]!;
    if (byte === PERCENT) {
      // Past `end` comes a separator, which is no digit.
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
