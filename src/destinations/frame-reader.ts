import { GrowingBuffer } from "../egress/growing-buffer.ts";

/**
 * Splits the bytes that a server sends into frames: messages that begin with their length. Copies
 * every received byte a bounded number of times, however small the received pieces are.
 */
export class FrameReader {
  readonly #lengthOf: (bytes: Buffer) => number | undefined;
  readonly #rest = new GrowingBuffer();

  /**
   * `lengthOf` returns the length of the frame at the beginning of some bytes; undefined while the
   * length itself is incomplete. It throws for a length that is not allowed.
   */
  constructor(lengthOf: (bytes: Buffer) => number | undefined) {
    this.#lengthOf = lengthOf;
  }

  /** Adds a received piece, and yields each frame that is now complete. */
  *read(piece: Buffer): Generator<Buffer> {
    const isNew = this.#rest.length === 0;
    const all = isNew ? piece : this.#rest.append(piece);
    let bytes = all;
    for (;;) {
      const length = this.#lengthOf(bytes);
      if (length === undefined || bytes.length < length) break;
      yield bytes.subarray(0, length);
      bytes = bytes.subarray(length);
    }
    if (!isNew && bytes.length === all.length) return;
    // The bytes after the last frame are copied, so that the memory before them can be freed. They
    // all came with this piece: before it, no frame was complete.
    this.#rest.clear();
    if (bytes.length > 0) this.#rest.append(bytes);
  }
}
