/**
 * Frames: u32 little-endian length, then a header of one line of JSON, a newline, and a body.
 * The length counts everything after itself. JSON texts hold no raw newline when
 * `JSON.stringify` wrote them, so the first newline ends the header.
 */
export const LENGTH_BYTES = 4;
const NEWLINE = 10;

export interface Frame {
  /** Parsed JSON of unknown shape: the other end may be hostile. */
  header: unknown;
  body: Buffer;
}

/** A frame as one buffer that is ready to be written. */
export function encodeFrame(header: object, body: readonly Uint8Array[] = []): Buffer {
  const line = Buffer.from(`${JSON.stringify(header)}\n`);
  let length = line.length;
  for (const part of body) length += part.length;
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + length);
  frame.writeUInt32LE(length, 0);
  frame.set(line, LENGTH_BYTES);
  let offset = LENGTH_BYTES + line.length;
  for (const part of body) {
    frame.set(part, offset);
    offset += part.length;
  }
  return frame;
}

/** Splits what follows the length. Throws `FrameError` when there is no header of JSON. */
export function decodeFrame(bytes: Buffer): Frame {
  const end = bytes.indexOf(NEWLINE);
  if (end < 0) throw new FrameError("Frame without a header");
  try {
    return { header: JSON.parse(bytes.toString("utf8", 0, end)), body: bytes.subarray(end + 1) };
  } catch {
    throw new FrameError("Frame with a header that is not JSON");
  }
}

/** Puts frames together from the chunks of a pipe. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #buffered = 0;
  /** Length of the frame under way; undefined until its four bytes are here. */
  #expected: number | undefined;

  /**
   * Takes a chunk and returns the frame that it completes, without its length. Throws
   * `FrameError` for a frame over `bytesMax`, and for bytes after the frame: one question has
   * one answer.
   */
  push(chunk: Uint8Array, bytesMax: number): Buffer | undefined {
    this.#chunks.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    this.#buffered += chunk.byteLength;
    if (this.#expected === undefined) {
      if (this.#buffered < LENGTH_BYTES) return undefined;
      this.#expected = this.#joined().readUInt32LE(0);
      if (this.#expected > bytesMax) throw new FrameError("Frame over its limit");
    }
    const size = LENGTH_BYTES + this.#expected;
    if (this.#buffered < size) return undefined;
    if (this.#buffered > size) throw new FrameError("Bytes after the frame");
    const frame = this.#joined().subarray(LENGTH_BYTES);
    this.#chunks = [];
    this.#buffered = 0;
    this.#expected = undefined;
    return frame;
  }

  #joined(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks, this.#buffered)];
    return this.#chunks[0]!;
  }
}

/** The other end broke the rules of the pipe. */
export class FrameError extends Error {
  override readonly name = "FrameError";
}
