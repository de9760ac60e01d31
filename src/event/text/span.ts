import { bytes, QUERY, words } from "./scratch.ts";

/**
 * A text in the scratch buffer (preallocated working memory), given by two offsets. Spans are
 * compared, hashed and copied without making strings.
 */
export interface Span {
  start: number;
  end: number;
}

let kept = 0;

/**
 * Writes an ASCII text to the scratch buffer, where it stays for use in every event. Returns its
 * span. Throws `RangeError` when the part of the buffer for these texts is full.
 */
export function keep(text: string): Span {
  const start = kept;
  kept += bytes.write(text, start, "latin1");
  if (kept >= QUERY) throw new RangeError(`Expected fragments of less than ${QUERY} bytes`);
  return { start, end: kept };
}

/**
 * Copies the text from offset `start` to offset `end` of the scratch buffer to offset `out` of the
 * same buffer, and returns the offset after the copy. It always copies at least 16 bytes, because
 * most texts are short and a loop over the exact length costs a mispredicted branch. Later writes
 * overwrite the excess bytes.
 */
export function copySpan(start: number, end: number, out: number): number {
  words.setInt32(out, words.getInt32(start, true), true);
  words.setInt32(out + 4, words.getInt32(start + 4, true), true);
  words.setInt32(out + 8, words.getInt32(start + 8, true), true);
  words.setInt32(out + 12, words.getInt32(start + 12, true), true);
  if (end - start > 16) bytes.copyWithin(out + 16, start + 16, end);
  return out + end - start;
}

/**
 * Seed of the name hashes. It is random for each process, so that a client cannot prepare names
 * whose hashes collide.
 */
const SEED = (Math.random() * 0x1_0000_0000) | 0;

/**
 * Hashes the text between two offsets of the scratch buffer, four bytes at a time. When the length
 * is not a multiple of four, the last four bytes overlap the ones before them. A hash that reads
 * byte by byte would take as long as the rest of the parsing.
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

/** Bit mask of the lowest `count` bytes of a 32-bit word; `count` is 0 to 3. */
function maskOf(count: number): number {
  return (1 << (count << 3)) - 1;
}
