/**
 * A varint encodes a whole number from 0 to 2 ** 53 - 1, with 7 bits of the number in each byte.
 * The lowest bits are first. Each byte but the last has its highest bit set.
 */

export const VARINT_BYTES_MAX = 8;

/** Writes `value` as a varint at `offset`. Returns the offset after the varint. */
export function putVarint(value: number, into: Buffer, offset: number): number {
  let at = offset;
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) into[at++] = 128 + (rest % 128);
  into[at++] = rest;
  return at;
}

/**
 * Returns the number that the varint at `offset` encodes. Bytes beyond the end of `buffer` count as
 * 0.
 */
export function varintAt(buffer: Uint8Array, offset: number): number {
  let value = 0;
  for (let at = varintEnd(buffer, offset) - 1; at >= offset; at--) {
    value = value * 128 + (buffer[at]! & 127);
  }
  return value;
}

/**
 * Returns the offset after the varint at `offset`. In a damaged record, this can be beyond the end
 * of `buffer`.
 */
export function varintEnd(buffer: Uint8Array, offset: number): number {
  let at = offset;
  while (at < offset + VARINT_BYTES_MAX - 1 && buffer[at]! >= 128) at++;
  return at + 1;
}
