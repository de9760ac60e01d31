import { hexValue, PERCENT, PLUS, SPACE } from "./bytes.ts";
import { escapes } from "./json-text.ts";

/**
 * Undoes the encoding of one name or value (WHATWG `application/x-www-form-urlencoded`): `+` is a
 * space, `%XX` a byte, and a malformed escape stays as it is. Reads `bytes[from, end)` and writes
 * to `bytes` at `into`, never more bytes than were read. Returns the end of what was written;
 * negated when the result is not JSON text as it stands, and has to go through `writeText`.
 */
export function percentDecode(bytes: Uint8Array, from: number, end: number, into: number): number {
  let out = into;
  let at = from;
  let special = 0;
  while (at < end) {
    let byte = bytes[at++]!;
    if (byte === PERCENT) {
      // The byte at `end` is a separator, which is no hexadecimal digit.
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
