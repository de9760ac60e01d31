/**
 * Ids of sources, which are 27 letters and digits, are stored as a number of 160 bits with these
 * digits. Other texts are stored as they are.
 */

const ID_CHARS = 27;
export const PACKED_ID_BYTES = 20;
/** Bytes of an id in records of version 3, with 6 bits for each character. */
export const SIX_BIT_ID_BYTES = Math.ceil((ID_CHARS * 6) / 8);

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const NO_DIGIT = 255;
const digitOf = new Uint8Array(256).fill(NO_DIGIT);
for (let digit = 0; digit < digits.length; digit++) digitOf[digits.charCodeAt(digit)] = digit;

/** Characters that are converted at once: a factor of 62 ** 3 times 16 bits is exact as a number. */
const GROUP_CHARS = 3;
const GROUP = 62 ** GROUP_CHARS;
/** The number in units of 16 bits, the lowest first. */
const limbs = new Uint16Array(PACKED_ID_BYTES / 2);
const LIMB = 2 ** 16;

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
  limbs.fill(0);
  for (let start = 0; start < ID_CHARS; start += GROUP_CHARS) {
    let carry = 0;
    for (let i = start; i < start + GROUP_CHARS; i++) {
      const digit = digitOf[id.charCodeAt(i)] ?? NO_DIGIT;
      if (digit === NO_DIGIT) return undefined;
      carry = carry * 62 + digit;
    }
    for (let i = 0; i < limbs.length; i++) {
      const product = limbs[i]! * GROUP + carry;
      limbs[i] = product % LIMB;
      carry = Math.floor(product / LIMB);
    }
    // 27 digits can be more than 160 bits. The ids that pixelmill makes are not.
    if (carry > 0) return undefined;
  }
  lastId = id;
  lastBytes = new Uint8Array(PACKED_ID_BYTES);
  for (let i = 0; i < PACKED_ID_BYTES; i++) {
    lastBytes[i] = limbs[i >> 1]! >> (8 * (i & 1));
  }
  return lastBytes;
}

/** Returns the id of the first `PACKED_ID_BYTES` of `bytes`. */
export function unpackId(bytes: Uint8Array): string {
  if (isLast(bytes)) return lastId;
  for (let i = 0; i < limbs.length; i++) limbs[i] = bytes[2 * i]! | (bytes[2 * i + 1]! << 8);
  let id = "";
  while (id.length < ID_CHARS) {
    let rest = 0;
    for (let i = limbs.length - 1; i >= 0; i--) {
      const part = rest * LIMB + limbs[i]!;
      limbs[i] = Math.floor(part / GROUP);
      rest = part % GROUP;
    }
    id = `${digits[Math.floor(rest / 3844)]}${digits[Math.floor(rest / 62) % 62]}${digits[rest % 62]}${id}`;
  }
  lastId = id;
  lastBytes = Uint8Array.from(bytes.subarray(0, PACKED_ID_BYTES));
  return id;
}

function isLast(bytes: Uint8Array): boolean {
  for (let i = 0; i < PACKED_ID_BYTES; i++) if (bytes[i] !== lastBytes[i]) return false;
  return true;
}

/** Returns the id with 6 bits for each character that begins at `offset`. */
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
