import { assert } from "../../assert.ts";
import { BRACKET_CLOSE, BRACKET_OPEN, COMMA } from "../../json/bytes.ts";
import { loadText, scanned, skipValue } from "../../json/json-scanner.ts";

/**
 * Maximum size in bytes of the header of a frame (message) from a guest process. The header
 * contains the number of outputs of each event, the errors, and the lines of `log(...)`.
 */
const GUEST_HEADER_BYTES_MAX = 1 << 20;

/**
 * Size in bytes of the length field at the start of each frame (message) between the server and a
 * guest process. The field is a little-endian u32, the number of bytes after it: a header (one line
 * of JSON), a newline, and a body.
 */
export const LENGTH_BYTES = 4;
export const NEWLINE = 10;

export interface GuestFrame {
  /**
   * Header of the frame: parsed JSON. Its shape is unknown, because user code may control the guest
   * process that sent it.
   */
  header: unknown;
  body: Buffer;
  /** Header, newline and body of the frame as they were received. */
  bytes: Buffer;
}

/** Returns a field of a frame's header; undefined if the header has no such field. */
export function headerField({ header }: GuestFrame, name: string): unknown {
  return (header as Record<string, unknown> | null)?.[name];
}

/** JSON values, each as UTF-8 bytes, that form one JSON array in the body of a frame. */
export type JsonTexts = readonly Uint8Array[];

/**
 * Part of a frame's body: JSON values, to be written as one array, or a string, written unchanged.
 */
export type FrameText = JsonTexts | string;

/** Returns the size in bytes of the JSON array whose elements are `texts`. */
export function jsonArrayBytes(texts: JsonTexts): number {
  let bytes = 2 + Math.max(0, texts.length - 1);
  for (const text of texts) bytes += text.length;
  return bytes;
}

/**
 * Writes frames (messages) to a guest process into one reused buffer. A frame is valid only until
 * the next one is written. A new buffer of 200 KB for every batch would take a tenth of the
 * server's CPU time.
 */
export class GuestFrameWriter {
  #buffer = Buffer.allocUnsafeSlow(WRITER_BYTES_MIN);

  write(header: object, body: readonly FrameText[]): Buffer {
    const line = JSON.stringify(header);
    let bytesMax = LENGTH_BYTES + textBytesMax(line) + 1;
    for (const part of body) bytesMax += textBytesMax(part);
    const buffer = this.#reserve(bytesMax);
    let end = LENGTH_BYTES + buffer.write(line, LENGTH_BYTES);
    buffer[end++] = NEWLINE;
    for (const part of body) {
      if (typeof part === "string") end += buffer.write(part, end);
      else end = writeArray(buffer, end, part);
    }
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
/** Maximum number of UTF-8 bytes that encode one UTF-16 unit. */
export const BYTES_PER_CHAR_MAX = 3;

function textBytesMax(text: FrameText): number {
  return typeof text === "string" ? BYTES_PER_CHAR_MAX * text.length : jsonArrayBytes(text);
}

function writeArray(buffer: Buffer, start: number, texts: JsonTexts): number {
  let end = start;
  buffer[end++] = BRACKET_OPEN;
  for (let i = 0; i < texts.length; i += 1) {
    if (i > 0) buffer[end++] = COMMA;
    const text = texts[i]!;
    buffer.set(text, end);
    end += text.length;
  }
  buffer[end++] = BRACKET_CLOSE;
  return end;
}

/**
 * Splits a frame (without the length field) into header and body. Throws `GuestFrameError` when the
 * header is missing or is not JSON.
 */
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
 * Decodes a frame from a guest process. Throws `GuestFrameError` if the header is invalid, too
 * large or too deeply nested. The header is checked before it is parsed, because parsing takes many
 * times the memory of the text.
 */
export function decodeGuestReply(bytes: Buffer): GuestFrame {
  const end = bytes.subarray(0, GUEST_HEADER_BYTES_MAX + 1).indexOf(NEWLINE);
  if (end < 0) throw new GuestFrameError("Expected a frame header within its limit");
  const header = parseGuestJson(bytes.subarray(0, end), HEADER_BOUNDS);
  return { header, body: bytes.subarray(end + 1), bytes };
}

/**
 * Limits of the depth and size of JSON from a guest process. They are needed because user code may
 * have taken control of the process.
 */
export interface GuestJsonBounds {
  levelsMax: number;
  /**
   * Maximum number of values in the text. Each object, each array, and each value in them counts.
   */
  valuesMax: number;
}

/**
 * Checks a JSON text from a guest process, and then parses it. The check throws `GuestFrameError`
 * if the text is not JSON or exceeds a limit.
 */
export function parseGuestJson(text: Buffer, { levelsMax, valuesMax }: GuestJsonBounds): unknown {
  scanned.levels = 0;
  scanned.values = 0;
  const isJson = skipValue(loadText(text), 0) === text.length;
  if (!isJson || scanned.levels > levelsMax || scanned.values > valuesMax) {
    throw new GuestFrameError(
      `Expected JSON of at most ${levelsMax} levels and ${valuesMax} values`,
    );
  }
  try {
    return JSON.parse(text.toString());
  } catch {
    throw new GuestFrameError("Expected JSON");
  }
}

/**
 * Limits of the header of a frame from a guest process, with a reserve. The largest valid header
 * has three levels, up to six values for each of 500 events, and up to five for each of 1,000 lines
 * of `log(...)`.
 */
const HEADER_BOUNDS: GuestJsonBounds = { levelsMax: 4, valuesMax: 65_536 };

/** Assembles frames from the chunks that arrive from the socket of a guest process. */
export class GuestFrameReader {
  /** Buffer whose first `#buffered` bytes were received and were not yet returned as a frame. */
  #bytes: Buffer = NOTHING;
  #buffered = 0;
  /** Whether the capacity of `#bytes` was enlarged for the incomplete frame, to hold all of it. */
  #hasRoom = false;

  /** Number of received bytes that were not yet returned as a frame. */
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
   * Returns the next frame without the length field, or undefined while it is incomplete. Throws
   * `GuestFrameError` if the frame is longer than `bytesMax`. Chunks are copied into one buffer,
   * because a list of tiny chunks could take hundreds of times their memory.
   */
  next(bytesMax: number): Buffer | undefined {
    if (this.#buffered < LENGTH_BYTES) return undefined;
    const end = LENGTH_BYTES + this.#bytes.readUInt32LE(0);
    if (end > LENGTH_BYTES + bytesMax)
      throw new GuestFrameError("Expected a frame within its limit");
    if (this.#buffered < end) {
      if (!this.#hasRoom) this.#grow(end);
      this.#hasRoom = true;
      return undefined;
    }
    const bytes = this.#bytes.subarray(LENGTH_BYTES, end);
    this.#set(this.#bytes.subarray(end, this.#buffered));
    return bytes;
  }

  #set(bytes: Buffer): void {
    this.#bytes = bytes;
    this.#buffered = bytes.length;
    this.#hasRoom = false;
  }

  #grow(length: number): void {
    const room = Buffer.allocUnsafeSlow(length);
    this.#bytes.copy(room, 0, 0, this.#buffered);
    this.#bytes = room;
  }
}

const NOTHING = Buffer.alloc(0);

/** Error that is thrown when the process at the other end of the socket has broken the protocol. */
export class GuestFrameError extends Error {
  override readonly name = "GuestFrameError";
}
