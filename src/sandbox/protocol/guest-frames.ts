import { assert } from "../../assert.ts";
import { jsonEnd } from "./json-scanner.ts";

/** Bytes of the header of a guest's frame: counts, errors, lines of `log(...)`. */
const GUEST_HEADER_BYTES_MAX = 1 << 20;

/**
 * Frames: u32 little-endian length, then a header of one line of JSON, a newline, and a body.
 * The length counts everything after itself. JSON texts hold no raw newline when
 * `JSON.stringify` wrote them, so the first newline ends the header.
 */
export const LENGTH_BYTES = 4;
export const NEWLINE = 10;
const COMMA = 44;
const OPENING_BRACKET = 91;
const CLOSING_BRACKET = 93;

export interface GuestFrame {
  /** Parsed JSON of unknown shape: a guest may be hostile. */
  header: unknown;
  body: Buffer;
  /** Header and body as received. */
  bytes: Buffer;
}

/** JSON texts that a frame's body holds as one JSON array. */
export type JsonTexts = readonly Uint8Array[];

/** Size of texts as a JSON array. */
export function jsonArrayBytes(texts: JsonTexts): number {
  let bytes = 2 + Math.max(0, texts.length - 1);
  for (const text of texts) bytes += text.length;
  return bytes;
}

/**
 * Writes frames into one reused buffer, so that a frame is valid until the next one is written.
 * A new buffer of 200 KB for every batch takes a tenth of the host's time.
 */
export class GuestFrameWriter {
  #buffer = Buffer.allocUnsafeSlow(WRITER_BYTES_MIN);

  write(header: object, arrays: readonly JsonTexts[]): Buffer {
    const line = JSON.stringify(header);
    let bytesMax = LENGTH_BYTES + BYTES_PER_CHAR_MAX * line.length + 1;
    for (const texts of arrays) bytesMax += jsonArrayBytes(texts);
    const buffer = this.#reserve(bytesMax);
    let end = LENGTH_BYTES + buffer.write(line, LENGTH_BYTES);
    buffer[end++] = NEWLINE;
    for (const texts of arrays) end = writeArray(buffer, end, texts);
    assert(end <= bytesMax, "A frame fits the memory that was reserved for it");
    buffer.writeUInt32LE(end - LENGTH_BYTES, 0);
    return buffer.subarray(0, end);
  }

  #reserve(bytes: number): Buffer {
    if (bytes <= this.#buffer.length) return this.#buffer;
    const buffer = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(bytes)));
    // The buffer of an unusually large frame is not kept.
    if (bytes <= WRITER_BYTES_MAX) this.#buffer = buffer;
    return buffer;
  }
}

const WRITER_BYTES_MIN = 16 << 10;
const WRITER_BYTES_MAX = 1 << 20;
/** Longest UTF-8 form of one UTF-16 unit. */
export const BYTES_PER_CHAR_MAX = 3;

function writeArray(buffer: Buffer, start: number, texts: JsonTexts): number {
  let end = start;
  buffer[end++] = OPENING_BRACKET;
  for (let i = 0; i < texts.length; i += 1) {
    if (i > 0) buffer[end++] = COMMA;
    const text = texts[i]!;
    buffer.set(text, end);
    end += text.length;
  }
  buffer[end++] = CLOSING_BRACKET;
  return end;
}

/** Splits a frame without its length. Throws `GuestFrameError` when it has no header of JSON. */
export function decodeFrame(bytes: Buffer): GuestFrame {
  const end = bytes.indexOf(NEWLINE);
  if (end < 0) throw new GuestFrameError("Expected a frame with a header");
  try {
    const header: unknown = JSON.parse(bytes.toString("utf8", 0, end));
    return { header, body: bytes.subarray(end + 1), bytes };
  } catch {
    throw new GuestFrameError("Expected a frame header of JSON");
  }
}

/**
 * Decodes a frame of a guest: like `decodeFrame`, but parses only a small and flat header, since
 * parsing takes many times the memory of its text, and more for deeply nested text.
 */
export function decodeGuestReply(bytes: Buffer): GuestFrame {
  const end = bytes.subarray(0, GUEST_HEADER_BYTES_MAX + 1).indexOf(NEWLINE);
  if (end < 0) throw new GuestFrameError("Expected a frame header within its limit");
  if (jsonEnd(bytes, 0, HEADER_LEVELS_MAX) !== end) {
    throw new GuestFrameError("Expected a frame header of flat JSON");
  }
  return decodeFrame(bytes);
}

/** Levels of a header: an object with a list of objects, and one more. */
const HEADER_LEVELS_MAX = 4;

/** Assembles frames from the chunks of a socket. */
export class GuestFrameReader {
  /** Received bytes of frames that are not complete: the first `#buffered` bytes of the buffer. */
  #bytes: Buffer = NOTHING;
  #buffered = 0;
  /** Whether the buffer has room for the whole frame. */
  #hasRoom = false;
  /** Whether the header ended within its limit. */
  #hasHeader = false;

  /** Received bytes of frames that are not complete. */
  get bufferedBytes(): number {
    return this.#buffered;
  }

  push(chunk: Uint8Array): void {
    if (this.#buffered === 0) {
      this.#set(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
      return;
    }
    const end = this.#buffered + chunk.byteLength;
    if (end > this.#bytes.length) this.#grow(end);
    this.#bytes.set(chunk, this.#buffered);
    this.#buffered = end;
  }

  /**
   * The next frame without its length, if it is complete. Throws `GuestFrameError` when it is longer
   * than `bytesMax`. Its buffer is allocated once its length is known: chunks of one byte each, kept
   * as received, would take hundreds of times their size.
   */
  next(bytesMax: number): Buffer | undefined {
    if (this.#buffered < LENGTH_BYTES) return undefined;
    const end = LENGTH_BYTES + this.#bytes.readUInt32LE(0);
    if (end > LENGTH_BYTES + bytesMax)
      throw new GuestFrameError("Expected a frame within its limit");
    if (this.#buffered < end) {
      if (!this.#hasRoom) this.#grow(end);
      this.#hasRoom = true;
      this.#expectHeader();
      return undefined;
    }
    const bytes = this.#bytes.subarray(LENGTH_BYTES, end);
    this.#set(this.#bytes.subarray(end, this.#buffered));
    return bytes;
  }

  /** Refuses a header that has become too long without an end. */
  #expectHeader(): void {
    const end = LENGTH_BYTES + GUEST_HEADER_BYTES_MAX;
    if (this.#hasHeader || this.#buffered <= end) return;
    this.#hasHeader = this.#bytes.subarray(LENGTH_BYTES, end + 1).includes(NEWLINE);
    if (!this.#hasHeader) throw new GuestFrameError("Expected a frame header within its limit");
  }

  #set(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#buffered = bytes.length;
    this.#hasRoom = false;
    this.#hasHeader = false;
  }

  #grow(length: number): void {
    const room = Buffer.allocUnsafeSlow(length);
    this.#bytes.copy(room, 0, 0, this.#buffered);
    this.#bytes = room;
  }
}

const NOTHING = Buffer.alloc(0);

/** The other end broke the protocol. */
export class GuestFrameError extends Error {
  override readonly name = "GuestFrameError";
}
