import { KafkaAnswerError } from "./bounded-reader.ts";

// Snappy and LZ4 consist of literal bytes and of copies of earlier output. The library decompresses
// both in WebAssembly, which one damaged input breaks for all later ones.

/**
 * Growing buffer for decompressed output. Throws `KafkaAnswerError` for output beyond its limit.
 */
class Output {
  #bytes = Buffer.allocUnsafe(64 << 10);
  #length = 0;

  constructor(private readonly bytesMax: number) {}

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  append(bytes: Buffer): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /**
   * Appends a copy of earlier output: `length` bytes, beginning `offset` bytes before the end. If
   * `length` exceeds `offset`, the copied bytes repeat.
   */
  copy(offset: number, length: number): void {
    if (offset < 1 || offset > this.#length)
      throw new KafkaAnswerError("Expected a copy of output");
    this.#reserve(length);
    const end = this.#length + length;
    for (let at = this.#length; at < end; at++) this.#bytes[at] = this.#bytes[at - offset]!;
    this.#length = end;
  }

  #reserve(more: number): void {
    const length = this.#length + more;
    if (length > this.bytesMax) throw new KafkaAnswerError("Expected fewer compressed records");
    if (length <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.min(this.bytesMax, 2 * length));
    larger.set(this.bytes);
    this.#bytes = larger;
  }
}

/** Input that is read from start to end. Throws `KafkaAnswerError` for a read beyond the end. */
class Input {
  #at = 0;

  constructor(private readonly bytes: Buffer) {}

  get left(): number {
    return this.bytes.length - this.#at;
  }

  take(length: number): Buffer {
    if (length > this.left) throw new KafkaAnswerError("Expected more compressed bytes");
    this.#at += length;
    return this.bytes.subarray(this.#at - length, this.#at);
  }

  byte(): number {
    return this.take(1)[0]!;
  }

  /** Reads a little-endian number of 1 to 4 bytes. */
  number(bytes: number): number {
    return this.take(bytes).readUIntLE(0, bytes);
  }
}

const XERIAL_HEAD = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const XERIAL_HEAD_BYTES = 16;

/**
 * Decompresses Snappy data in either of two forms. One is a single block without a header. The
 * other is that of Kafka's Java clients: a header, followed by any number of blocks.
 */
export function decompressSnappy(data: Buffer, bytesMax: number): Buffer {
  const output = new Output(bytesMax);
  const input = new Input(data);
  if (data.subarray(0, XERIAL_HEAD.length).equals(XERIAL_HEAD)) {
    input.take(XERIAL_HEAD_BYTES);
    while (input.left > 0) readSnappy(new Input(input.take(input.take(4).readUInt32BE())), output);
  } else readSnappy(input, output);
  return output.bytes;
}

function readSnappy(input: Input, output: Output): void {
  // Skips the length of the output. The following literals and copies determine it anyway.
  while (input.byte() >= 0x80);
  while (input.left > 0) {
    const tag = input.byte();
    const size = tag >> 2;
    switch (tag & 3) {
      case 0:
        output.append(input.take(1 + (size < 60 ? size : input.number(size - 59))));
        break;
      case 1:
        output.copy(((tag >> 5) << 8) | input.byte(), 4 + (size & 7));
        break;
      case 2:
        output.copy(input.number(2), 1 + size);
        break;
      default:
        output.copy(input.number(4), 1 + size);
    }
  }
}

const LZ4_MAGIC = 0x184d2204;
const HAS_CONTENT_SIZE = 8;
const HAS_CONTENT_CHECKSUM = 4;
const HAS_BLOCK_CHECKSUM = 16;
const HAS_DICTIONARY = 1;
const COPY_BYTES_MIN = 4;

/**
 * Decompresses an LZ4 frame. Does not check the frame's checksums, because each batch of records
 * has its own checksum.
 */
export function decompressLz4(data: Buffer, bytesMax: number): Buffer {
  const output = new Output(bytesMax);
  const input = new Input(data);
  if (input.number(4) !== LZ4_MAGIC) throw new KafkaAnswerError("Expected a frame of LZ4");
  const flags = input.byte();
  if (flags & HAS_DICTIONARY) throw new KafkaAnswerError("Expected LZ4 without a dictionary");
  // Skips the block size, the content size if there is one, and the checksum of the frame's head.
  input.take(2 + (flags & HAS_CONTENT_SIZE ? 8 : 0));
  for (;;) {
    const size = input.number(4);
    if (size === 0) break;
    const block = input.take(size & 0x7fffffff);
    if (size >= 0x80000000) output.append(block);
    else readLz4(new Input(block), output);
    if (flags & HAS_BLOCK_CHECKSUM) input.take(4);
  }
  if (flags & HAS_CONTENT_CHECKSUM) input.take(4);
  return output.bytes;
}

function readLz4(input: Input, output: Output): void {
  while (input.left > 0) {
    const token = input.byte();
    output.append(input.take(lz4Length(token >> 4, input)));
    // The last sequence of a block has no copy.
    if (input.left === 0) return;
    const offset = input.number(2);
    output.copy(offset, COPY_BYTES_MIN + lz4Length(token & 15, input));
  }
}

function lz4Length(first: number, input: Input): number {
  let length = first;
  for (let byte = first === 15 ? 255 : 0; byte === 255; length += byte) byte = input.byte();
  return length;
}
