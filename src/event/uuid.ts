import { hexDigit, MINUS } from "../json/bytes.ts";

/**
 * Sets the version and variant bits that make 16 bytes a version 4 UUID (RFC 9562). Changes the
 * bytes in place and returns them.
 */
export function markVersion4(bytes: Uint8Array): Uint8Array {
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes;
}

/** For each byte value, its two hexadecimal digits as one little-endian 16-bit number. */
const hexPairs = Uint16Array.from({ length: 256 }, (_, byte) => {
  return hexDigit[byte >> 4]! | (hexDigit[byte & 15]! << 8);
});

/**
 * Writes the 16 bytes at `from` as a UUID text (8-4-4-4-12 hexadecimal digits) at offset `out` of
 * `target`. Returns the offset after it.
 */
export function writeUuid(id: Uint8Array, from: number, target: DataView, out: number): number {
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) target.setUint8(out++, MINUS);
    target.setUint16(out, hexPairs[id[from + i]!]!, true);
    out += 2;
  }
  return out;
}

const textBytes = Buffer.alloc(36);
const textView = new DataView(textBytes.buffer, textBytes.byteOffset, textBytes.length);

/** Formats 16 bytes as a UUID. */
export function uuidText(bytes: Uint8Array): string {
  writeUuid(bytes, 0, textView, 0);
  return textBytes.toString("latin1");
}

/** Parses a UUID into its 16 bytes; undefined when the text is no UUID. */
export function uuidBytes(text: string): Uint8Array | undefined {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return undefined;
  return Uint8Array.fromHex(text.replaceAll("-", ""));
}

/**
 * Number of bytes in which a record stores a UUID that `markTimed` made: its 64 random bits. The
 * other bits follow from the record's time.
 */
export const TIMED_ID_REST_BYTES = 8;

/**
 * Turns 16 random bytes into a version 7 UUID (RFC 9562) of a time in milliseconds since the epoch.
 * Changes and returns `bytes`. The UUID keeps 64 random bits; the other ten bits that may be random
 * are 0.
 */
export function markTimed(bytes: Uint8Array, time: number): Uint8Array {
  putTime(bytes, time);
  bytes[6] = 0x70;
  bytes[7] = bytes[7]! & 0x03;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes;
}

/** Whether a UUID has the form that `markTimed` gives it, and contains the time `time`. */
export function isOfTime(bytes: Uint8Array, time: number): boolean {
  if (bytes[6] !== 0x70 || bytes[7]! > 3 || bytes[8]! >> 6 !== 2) return false;
  return timeOf(bytes) === time;
}

/**
 * Returns the 64 random bits of a UUID that `markTimed` made, as 8 bytes. The next call overwrites
 * these bytes.
 */
export function restOfTimedId(bytes: Uint8Array): Uint8Array {
  for (let i = 0; i < TIMED_ID_REST_BYTES; i++) rest[i] = bytes[8 + i]!;
  // The two random bits are stored at the place of the variant, which is known.
  rest[0] = (rest[0]! & 0x3f) | (bytes[7]! << 6);
  return rest;
}

/**
 * Restores a UUID that `markTimed` made. `time` is the time in the UUID, in milliseconds since the
 * epoch. The UUID's random bits are the 8 bytes of `from` that begin at `offset`.
 */
export function timedId(time: number, from: Uint8Array, offset: number): Uint8Array {
  const bytes = new Uint8Array(16);
  for (let i = 0; i < TIMED_ID_REST_BYTES; i++) bytes[8 + i] = from[offset + i]!;
  bytes[7] = bytes[8]! >> 6;
  return markTimed(bytes, time);
}

const rest = new Uint8Array(TIMED_ID_REST_BYTES);

/** Writes a time in milliseconds since the epoch to the first 6 of `bytes`, highest byte first. */
function putTime(bytes: Uint8Array, time: number): void {
  const high = Math.floor(time / 2 ** 32);
  bytes[0] = high >> 8;
  bytes[1] = high;
  // Shift operators use only the lowest 32 bits of a number.
  bytes[2] = time >> 24;
  bytes[3] = time >> 16;
  bytes[4] = time >> 8;
  bytes[5] = time;
}

function timeOf(bytes: Uint8Array): number {
  const high = (bytes[0]! << 8) | bytes[1]!;
  const low = (bytes[2]! << 24) | (bytes[3]! << 16) | (bytes[4]! << 8) | bytes[5]!;
  return high * 2 ** 32 + (low >>> 0);
}
