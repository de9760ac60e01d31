/**
 * Packs ids of sources. An id has 27 letters and digits. They are read as the digits of a number in
 * base 62, which is stored in 160 bits. A string that is no such id cannot be packed and is stored
 * as text.
 */

const ID_CHARS = 27;
export const PACKED_ID_BYTES = 20;
/** Number of bytes of a packed source id in records of version 3: 6 bits for each character. */
export const SIX_BIT_ID_BYTES = Math.ceil((ID_CHARS * 6) / 8);

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const NO_DIGIT = 255;
const digitOf = new Uint8Array(256).fill(NO_DIGIT);
for (let digit = 0; digit < digits.length; digit++) digitOf[digits.charCodeAt(digit)] = digit;

/**
 * Number of characters of an id that are converted at once. It is 2, because 62 ** 2 times a 16-bit
 * part in `limbs` fits a signed 32-bit integer, which is fast to multiply.
 */
const GROUP_CHARS = 2;
const GROUP = 62 ** GROUP_CHARS;
/**
 * The id being converted, as the number that it represents in base 62. Each element holds 16 bits
 * of the number, the lowest first.
 */
const limbs = new Int32Array(PACKED_ID_BYTES / 2);

interface PackedId {
  id: string;
  bytes: Uint8Array;
}

/**
 * Number of slots in each of the caches `packedIds` and `unpackedIds`. A slot holds one recently
 * converted id, as text and packed.
 */
const KEPT_IDS = 64;
const none: PackedId = { id: "0".repeat(ID_CHARS), bytes: new Uint8Array(PACKED_ID_BYTES) };
const packedIds: PackedId[] = new Array(KEPT_IDS).fill(none);
const unpackedIds: PackedId[] = new Array(KEPT_IDS).fill(none);

/** Returns the packed bytes of a source id; undefined for a text that cannot be packed. */
export function packId(id: string): Uint8Array | undefined {
  if (id.length !== ID_CHARS) return undefined;
  const place = (id.charCodeAt(ID_CHARS - 1) ^ (id.charCodeAt(ID_CHARS - 2) << 2)) % KEPT_IDS;
  const known = packedIds[place]!;
  if (known.id === id) return known.bytes;
  limbs.fill(0);
  for (let end = ID_CHARS % GROUP_CHARS; end <= ID_CHARS; end += GROUP_CHARS) {
    let carry = 0;
    for (let i = Math.max(0, end - GROUP_CHARS); i < end; i++) {
      const digit = digitOf[id.charCodeAt(i)] ?? NO_DIGIT;
      if (digit === NO_DIGIT) return undefined;
      carry = carry * 62 + digit;
    }
    for (let i = 0; i < limbs.length; i++) {
      const product = limbs[i]! * GROUP + carry;
      limbs[i] = product & 0xffff;
      carry = product >> 16;
    }
    // 27 digits can be more than 160 bits. The ids that pixelmill makes are not.
    if (carry > 0) return undefined;
  }
  const bytes = new Uint8Array(PACKED_ID_BYTES);
  for (let i = 0; i < PACKED_ID_BYTES; i++) bytes[i] = limbs[i >> 1]! >> (8 * (i & 1));
  packedIds[place] = { id, bytes };
  return bytes;
}

/** Unpacks the id in the first `PACKED_ID_BYTES` of `bytes`. */
export function unpackId(bytes: Uint8Array): string {
  const place = bytes[0]! % KEPT_IDS;
  const known = unpackedIds[place]!;
  if (isEqual(bytes, known.bytes)) return known.id;
  for (let i = 0; i < limbs.length; i++) limbs[i] = bytes[2 * i]! | (bytes[2 * i + 1]! << 8);
  let id = "";
  while (id.length < ID_CHARS) {
    let rest = 0;
    for (let i = limbs.length - 1; i >= 0; i--) {
      const part = (rest << 16) | limbs[i]!;
      limbs[i] = (part / GROUP) | 0;
      rest = part - limbs[i]! * GROUP;
    }
    id = `${digits[(rest / 62) | 0]}${digits[rest % 62]}${id}`;
  }
  // Digits come in pairs, so the first one of an odd number is a 0 in front.
  id = id.slice(-ID_CHARS);
  unpackedIds[place] = { id, bytes: Uint8Array.from(bytes.subarray(0, PACKED_ID_BYTES)) };
  return id;
}

function isEqual(bytes: Uint8Array, known: Uint8Array): boolean {
  for (let i = 0; i < PACKED_ID_BYTES; i++) if (bytes[i] !== known[i]) return false;
  return true;
}

/** Unpacks the source id at `offset` in a record of version 3: 6 bits for each character. */
export function unpackSixBitId(buffer: Buffer, offset: number): string {
  let id = "";
  for (let i = 0; i < ID_CHARS; i++) {
    const bit = i * 6;
    const at = offset + (bit >> 3);
    const pair = (buffer[at]! << 8) | ((bit & 7) > 2 ? buffer[at + 1]! : 0);
    const digit = digits[(pair >> (10 - (bit & 7))) & 63];
    if (digit === undefined) throw new RangeError("Expected a source id of letters and digits");
    id += digit;
  }
  return id;
}
