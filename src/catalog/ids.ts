/**
 * Ids are 27 letters and digits that sort by creation. They encode 160 bits in base 62: 48 bits of
 * milliseconds, then 112 random bits. Within one millisecond, or when the clock was set back, a
 * process increments its last id by 1 if a new one would be lower, so that its ids always ascend.
 * The random bits keep ids of different processes apart.
 */

import { BASE62 } from "./base62.ts";

const ID_CHARS = 27;
const RANDOM_BITS = 112n;
const shape = /^[0-9A-Za-z]{27}$/;

let last = 0n;

/** Creates an id that is greater than all ids that this process has created. */
export function newId(now: number = Date.now()): string {
  const candidate = (BigInt(now) << RANDOM_BITS) | random();
  last = candidate > last ? candidate : last + 1n;
  return encode(last);
}

/** Whether a string has the form of an id. Other strings must not be used as keys of the store. */
export function isId(text: string): boolean {
  return shape.test(text);
}

/**
 * Returns the creation time that an id contains, in milliseconds since the Unix epoch. It is later
 * than the real time if the clock was set back shortly before the creation.
 */
export function timeOf(id: string): number {
  const value = [...id].reduce((sum, digit) => sum * 62n + BigInt(BASE62.indexOf(digit)), 0n);
  return Number(value >> RANDOM_BITS);
}

/** Returns a string that sorts after all ids created before `time`, and before all other ids. */
export function firstIdAt(time: number): string {
  return encode(BigInt(Math.max(0, Math.floor(time))) << RANDOM_BITS);
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
