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

export interface Frame {
  /** Parsed JSON of unknown shape: the other end may be hostile. */
  header: unknown;
  body: Buffer;
}

/** JSON texts that go into a frame's body as one JSON array, unparsed. */
export type Texts = readonly Uint8Array[];

/** Size of texts as a JSON array. */
export function arrayBytes(texts: Texts): number {
  let bytes = 2 + Math.max(0, texts.length - 1);
  for (const text of texts) bytes += text.length;
  return bytes;
}

/**
 * Writes frames, each into the same memory: it is valid until the next one. Fresh memory of
 * 200 KB for every batch costs a tenth of the host's time.
 */
export class FrameWriter {
  #buffer = Buffer.allocUnsafeSlow(WRITER_BYTES_MIN);

  write(header: object, arrays: readonly Texts[]): Buffer {
    const line = JSON.stringify(header);
    let bytesMax = LENGTH_BYTES + BYTES_PER_CHAR_MAX * line.length + 1;
    for (const texts of arrays) bytesMax += arrayBytes(texts);
    const buffer = this.#room(bytesMax);
    let end = LENGTH_BYTES + buffer.write(line, LENGTH_BYTES);
    buffer[end++] = NEWLINE;
    for (const texts of arrays) end = writeArray(buffer, end, texts);
    buffer.writeUInt32LE(end - LENGTH_BYTES, 0);
    return buffer.subarray(0, end);
  }

  #room(bytes: number): Buffer {
    if (bytes <= this.#buffer.length) return this.#buffer;
    const buffer = Buffer.allocUnsafeSlow(2 ** Math.ceil(Math.log2(bytes)));
    // A frame that is larger than usual does not keep its memory.
    if (bytes <= WRITER_BYTES_MAX) this.#buffer = buffer;
    return buffer;
  }
}

const WRITER_BYTES_MIN = 16 << 10;
const WRITER_BYTES_MAX = 1 << 20;
/** Longest UTF-8 form of one UTF-16 unit. */
export const BYTES_PER_CHAR_MAX = 3;

function writeArray(buffer: Buffer, start: number, texts: Texts): number {
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

  /** Bytes that are not part of a frame yet. */
  get buffered(): number {
    return this.#buffered;
  }

  push(chunk: Uint8Array): void {
    this.#chunks.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    this.#buffered += chunk.byteLength;
  }

  /** The next frame without its length, if all of it is here; `FrameError` if over `bytesMax`. */
  next(bytesMax: number): Buffer | undefined {
    if (this.#buffered < LENGTH_BYTES) return undefined;
    if (this.#chunks[0]!.length < LENGTH_BYTES) this.#join();
    const end = LENGTH_BYTES + this.#chunks[0]!.readUInt32LE(0);
    if (end > LENGTH_BYTES + bytesMax) throw new FrameError("Frame over its limit");
    if (this.#buffered < end) return undefined;
    const bytes = this.#join();
    this.#chunks = bytes.length > end ? [bytes.subarray(end)] : [];
    this.#buffered -= end;
    return bytes.subarray(LENGTH_BYTES, end);
  }

  #join(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks, this.#buffered)];
    return this.#chunks[0]!;
  }
}

/** The other end broke the rules of the pipe. */
export class FrameError extends Error {
  override readonly name = "FrameError";
}
