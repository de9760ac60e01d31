import { bytes, QUERY, words } from "./scratch.ts";

/** Spans of the scratch: texts that are compared, hashed and copied where they lie. */
export interface Span {
  start: number;
  end: number;
}

let kept = 0;

/** Keeps an ASCII text in the scratch for good. */
export function keep(text: string): Span {
  const start = kept;
  kept += bytes.write(text, start, "latin1");
  if (kept >= QUERY) throw new RangeError(`Expected fragments of less than ${QUERY} bytes`);
  return { start, end: kept };
}

/** Spans from this length on are copied by the engine: a call costs as much as 28 bytes. */
const COPY_BYTES_MIN = 28;

/** Copies a span to `out`, and returns the offset after it. */
export function copySpan(start: number, end: number, out: number): number {
  if (end - start >= COPY_BYTES_MIN) {
    bytes.copyWithin(out, start, end);
    return out + end - start;
  }
  let to = out;
  for (let at = start; at < end; at++) bytes[to++] = bytes[at]!;
  return to;
}

/** Differs per process, so that nobody can prepare names whose hashes meet. */
const SEED = (Math.random() * 0x1_0000_0000) | 0;

/** Four bytes at a time: a byte-wise hash would cost as much as the rest of the parse. */
export function hashOf(start: number, end: number): number {
  let hash = SEED ^ (end - start);
  let at = start;
  for (; at + 4 <= end; at += 4) hash = mix(hash ^ words.getInt32(at, true));
  return at < end ? mix(hash ^ (words.getInt32(at, true) & maskOf(end - at))) : hash;
}

export function mix(hash: number): number {
  const product = Math.imul(hash, 0x85ebca6b);
  return product ^ (product >>> 15);
}

export function isSame(start: number, end: number, otherStart: number, otherEnd: number): boolean {
  if (end - start !== otherEnd - otherStart) return false;
  const shift = otherStart - start;
  let at = start;
  for (; at + 4 <= end; at += 4) {
    if (words.getInt32(at, true) !== words.getInt32(at + shift, true)) return false;
  }
  if (at === end) return true;
  const difference = words.getInt32(at, true) ^ words.getInt32(at + shift, true);
  return (difference & maskOf(end - at)) === 0;
}

/** The lowest 1 to 3 bytes of a word. */
function maskOf(count: number): number {
  return (1 << (count << 3)) - 1;
}
