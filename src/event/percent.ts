import { hexValue, PERCENT, PLUS, SPACE } from "./bytes.ts";

/**
 * Undoes the encoding of one name or value (WHATWG `application/x-www-form-urlencoded`): `+` is
 * a space, `%XX` a byte, a malformed escape stays as it is. Reads `bytes[from, end)`, writes to
 * `bytes` at `into` (never more than it read), and returns the end of what it wrote.
 */
export function percentDecode(bytes: Uint8Array, from: number, end: number, into: number): number {
  let out = into;
  let at = from;
  while (at < end) {
    const byte = bytes[at++]!;
    if (byte === PERCENT && at + 2 <= end) {
      const high = hexValue[bytes[at]!]!;
      const low = hexValue[bytes[at + 1]!]!;
      if (high >= 0 && low >= 0) {
        bytes[out++] = (high << 4) | low;
        at += 2;
        continue;
      }
    }
    bytes[out++] = byte === PLUS ? SPACE : byte;
  }
  return out;
}
