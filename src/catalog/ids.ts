/**
 * Ids are 27 letters and digits that sort by creation: 160 bits in base 62, of which 48 are
 * milliseconds and 112 are random. Within one millisecond, or when the clock steps back, a process
 * counts up from its last id, so that its ids always ascend; the random part keeps the ids of
 * processes apart.
 */

import { BASE62 } from "./base62.ts";

const ID_CHARS = 27;
const RANDOM_BITS = 112n;
const shape = /^[0-9A-Za-z]{27}$/;

let last = 0n;

/** A new id that is greater than every id this process made before. */
export function newId(now: number = Date.now()): string {
  const candidate = (BigInt(now) << RANDOM_BITS) | random();
  last = candidate > last ? candidate : last + 1n;
  return encode(last);
}

/** Whether a text can be an id; a text that cannot never becomes a key of the store. */
export function isId(text: string): boolean {
  return shape.test(text);
}

/**
 * Time at which an id was made, in milliseconds; later than the clock's when the clock had stepped
 * back.
 */
export function timeOf(id: string): number {
  const value = [...id].reduce((sum, digit) => sum * 62n + BigInt(BASE62.indexOf(digit)), 0n);
  return Number(value >> RANDOM_BITS);
}

function random(): bigint {
  const bytes = crypto.getRandomValues(new Uint8Array(Number(RANDOM_BITS) / 8));
  return bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
}

function encode(value: bigint): string {
  let text = "";
  for (let rest = value; text.length < ID_CHARS; rest /= 62n) {
    text = BASE62[Number(rest % 62n)] + text;
  }
  return text;
}
