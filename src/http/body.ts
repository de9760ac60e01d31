import { HTTP_CHUNK_FRAMING_BYTES_MAX } from "../settings/limits.ts";
import { classes, VALUE } from "./byte-classes.ts";

const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;
const SIZE_DIGITS_MAX = 8;
const LINE_BYTES_MAX = 1_024;

/**
 * Finds the end of a request's body (RFC 9112 §6, §7), where the next request begins. Refuses
 * chunks with malformed framing, and bodies that are too large.
 */
export class Body {
  /** HTTP status with which the body is refused: 400 or 413; 0 while it is not refused. */
  status = 0;
  /**
   * Upper bound of the size of the request in bytes, with its head and the framing of chunks. When
   * the body is not chunked, this is the exact size of the request.
   */
  readonly requestBytesMax: number;
  /** Offset up to which `find` has searched the request. The next call continues there. */
  #at: number;
  #bytes = 0;
  #isTrailer = false;

  /**
   * Creates a search for the end of a body after a head of `headBytes` bytes. `length` is the
   * body's size in bytes, undefined if it is chunked. `bytesMax` is its maximum without the framing
   * of chunks.
   */
  constructor(
    readonly headBytes: number,
    private readonly length: number | undefined,
    private readonly bytesMax: number,
  ) {
    const bodyBytes = length ?? 0;
    this.#at = headBytes + bodyBytes;
    this.requestBytesMax =
      length === undefined ? headBytes + bytesMax + HTTP_CHUNK_FRAMING_BYTES_MAX : this.#at;
    if (bodyBytes > bytesMax) this.status = 413;
  }

  /**
   * Searches for the end of the request that begins at `start` and was received up to `end`.
   * Returns its length in bytes with the head; 0 if the body is incomplete or refused. `status` is
   * not 0 if it is refused.
   */
  find(bytes: Buffer, start: number, end: number): number {
    if (this.status !== 0) return 0;
    if (this.length !== undefined) return start + this.#at <= end ? this.#at : 0;
    const length = this.#findChunks(bytes, start, end);
    if ((length || end - start) > this.requestBytesMax) this.status ||= 413;
    return this.status === 0 ? length : 0;
  }

  #findChunks(bytes: Buffer, start: number, end: number): number {
    for (;;) {
      const from = start + this.#at;
      const feed = bytes.indexOf(LF, from);
      const isIncomplete = feed < 0 || feed >= end;
      if ((isIncomplete ? end : feed) - from > LINE_BYTES_MAX) return this.#refuse(400);
      if (isIncomplete) return 0;
      const stop = feed - 1;
      if (stop < from || bytes[stop] !== CR) return this.#refuse(400);
      if (this.#isTrailer) {
        if (stop === from) return feed + 1 - start;
        if (!isText(bytes, from, stop)) return this.#refuse(400);
        this.#at = feed + 1 - start;
        continue;
      }
      const size = readSize(bytes, from, stop);
      if (size < 0) return this.#refuse(400);
      if (this.#bytes + size > this.bytesMax) return this.#refuse(413);
      const chunkEnd = feed + 1 + size;
      if (size > 0) {
        if (chunkEnd + 2 > end) return 0;
        if (bytes[chunkEnd] !== CR || bytes[chunkEnd + 1] !== LF) return this.#refuse(400);
        this.#bytes += size;
        this.#at = chunkEnd + 2 - start;
      } else {
        this.#isTrailer = true;
        this.#at = chunkEnd - start;
      }
    }
  }

  #refuse(status: number): 0 {
    this.status = status;
    return 0;
  }
}

/**
 * Moves the contents of the chunks of a complete body together, so that they begin at `start`.
 * Returns the offset after them. The caller must have found the body's end with `Body.find`.
 */
export function joinChunks(bytes: Buffer, start: number): number {
  let to = start;
  for (let at = start; ; ) {
    const feed = bytes.indexOf(LF, at);
    const size = readSize(bytes, at, feed - 1);
    if (size <= 0) return to;
    bytes.copyWithin(to, feed + 1, feed + 1 + size);
    to += size;
    at = feed + 1 + size + 2;
  }
}

/**
 * Parses the chunk size between two offsets, in the first line of a chunk. Returns -1 when the line
 * is malformed. Ignores chunk extensions, which follow a semicolon.
 */
function readSize(bytes: Buffer, from: number, stop: number): number {
  let size = 0;
  let at = from;
  for (; at < stop && at - from < SIZE_DIGITS_MAX; at++) {
    const digit = digitOf(bytes[at]!);
    if (digit < 0) break;
    size = size * 16 + digit;
  }
  if (at === from) return -1;
  if (at === stop) return size;
  return bytes[at] === SEMICOLON && isText(bytes, at, stop) ? size : -1;
}

function digitOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function isText(bytes: Buffer, from: number, stop: number): boolean {
  for (let at = from; at < stop; at++) if (!(classes[bytes[at]!]! & VALUE)) return false;
  return true;
}
