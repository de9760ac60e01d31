import { hexValue, PERCENT, PLUS, SPACE } from "../../json/bytes.ts";
import { escapes } from "./json-text.ts";

/**
 * Decodes a percent-encoded name or value (WHATWG `application/x-www-form-urlencoded`): `+` becomes
 * a space, `%XX` a byte, and a malformed escape stays unchanged. Reads the bytes from `from` to
 * `end`. Writes to the same array at offset `into`, at most as many bytes as it reads.
 *
 * Returns the offset after the written bytes if these can be used as JSON text. Returns the negated
 * offset if a written byte is not ASCII or needs an escape in JSON. The caller must then check the
 * bytes with `isText`, and convert them with `writeText` if `isText` returns false.
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
