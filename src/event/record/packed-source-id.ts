/**
 * Ids of sources, which have 27 characters of 62, are stored with 6 bits for each character. Other
 * texts are stored as they are.
 */

const ID_CHARS = 27;
export const PACKED_ID_BYTES = Math.ceil((ID_CHARS * 6) / 8);

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const NO_DIGIT = 255;
const digitOf = new Uint8Array(256).fill(NO_DIGIT);
for (let digit = 0; digit < digits.length; digit++) digitOf[digits.charCodeAt(digit)] = digit;

/**
 * The id that was packed or unpacked last, and its bytes. Neighbouring records mostly have the same
 * source, and a string that is used again need not be made and hashed again.
 */
let lastId = "0".repeat(ID_CHARS);
let lastBytes = new Uint8Array(PACKED_ID_BYTES);

/** Returns the packed bytes of an id; undefined for a text that cannot be packed. */
export function packId(id: string): Uint8Array | undefined {
  if (id === lastId) return lastBytes;
  if (id.length !== ID_CHARS) return undefined;
  const packed = new Uint8Array(PACKED_ID_BYTES);
  for (let i = 0; i < ID_CHARS; i++) {
    const digit = digitOf[id.charCodeAt(i)] ?? NO_DIGIT;
    if (digit === NO_DIGIT) return undefined;
    const bit = i * 6;
    const shifted = digit << (10 - (bit & 7));
    packed[bit >> 3]! |= shifted >> 8;
    if ((bit & 7) > 2) packed[(bit >> 3) + 1]! |= shifted & 0xff;
  }
  lastId = id;
  lastBytes = packed;
  return packed;
}

/** Returns the id whose packed bytes begin at `offset`. */
export function unpackId(buffer: Buffer, offset: number): string {
  let isEqual = true;
  for (let i = 0; isEqual && i < PACKED_ID_BYTES; i++) {
    isEqual = buffer[offset + i] === lastBytes[i];
  }
  if (isEqual) return lastId;
  let id = "";
  for (let i = 0; i < ID_CHARS; i++) {
    const bit = i * 6;
    const at = offset + (bit >> 3);
    const pair = (buffer[at]! << 8) | ((bit & 7) > 2 ? buffer[at + 1]! : 0);
    const digit = digits[(pair >> (10 - (bit & 7))) & 63];
    if (digit === undefined) throw new RangeError("Expected a source id of letters and digits");
    id += digit;
  }
  lastId = id;
  lastBytes = Uint8Array.from(buffer.subarray(offset, offset + PACKED_ID_BYTES));
  return id;
}
