import { bytes, QUERY, words } from "./scratch.ts";

/** Spans of the scratch: texts that are compared, hashed and copied in place. */
export interface Span {
  start: number;
  end: number;
}

let kept = 0;

/** Keeps an ASCII text in the scratch for the life of the process. */
export function keep(text: string): Span {
  const start = kept;
  kept += bytes.write(text, start, "latin1");
  if (kept >= QUERY) throw new RangeError(`Expected fragments of less than ${QUERY} bytes`);
  return { start, end: kept };
}

/**
 * Copies a span to `out`, and returns the offset after it. Most spans are short, and a loop of
 * unforeseeable length costs a mispredicted branch: so 16 bytes are copied whatever the length, and
 * later writes overwrite the excess.
 */
export function copySpan(start: number, end: number, out: number): number {
  words.setInt32(out, words.getInt32(start, true), true);
  words.setInt32(out + 4, words.getInt32(start + 4, true), true);
  words.setInt32(out + 8, words.getInt32(start + 8, true), true);
  words.setInt32(out + 12, words.getInt32(start + 12, true), true);
  if (end - start > 16) bytes.copyWithin(out + 16, start + 16, end);
  return out + end - start;
}

/** Seed of the hashes, random per process so that a client cannot prepare colliding names. */
const SEED = (Math.random() * 0x1_0000_0000) | 0;

/**
 * Hashes four bytes at a time, and the last four once more where they overlap; a hash byte by byte
 * would cost as much as the rest of the parse.
 */
export function hashOf(start: number, end: number): number {
  const length = end - start;
  if (length < 4) return mix(SEED ^ length ^ (words.getInt32(start, true) & maskOf(length)));
  let hash = mix(SEED ^ length ^ words.getInt32(start, true));
  for (let at = start + 4; at < end - 4; at += 4) hash = mix(hash ^ words.getInt32(at, true));
  return mix(hash ^ words.getInt32(end - 4, true));
}

export function mix(hash: number): number {
  const product = Math.imul(hash, 0x85ebca6b);
  return product ^ (product >>> 15);
}

export function isSame(start: number, end: number, otherStart: number, otherEnd: number): boolean {
  const length = end - start;
  if (length !== otherEnd - otherStart) return false;
  const shift = otherStart - start;
  const difference = words.getInt32(start, true) ^ words.getInt32(otherStart, true);
  if (length < 4) return (difference & maskOf(length)) === 0;
  if (difference !== 0) return false;
  for (let at = start + 4; at < end - 4; at += 4) {
    if (words.getInt32(at, true) !== words.getInt32(at + shift, true)) return false;
  }
  return words.getInt32(end - 4, true) === words.getInt32(otherEnd - 4, true);
}

/** The lowest 0 to 3 bytes of a word. */
function maskOf(count: number): number {
  return (1 << (count << 3)) - 1;
}
