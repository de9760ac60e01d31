import { GrowingBuffer } from "../egress/growing-buffer.ts";

/**
 * Splits the bytes that a server sends into frames: messages that begin with their length. Each
 * byte is copied a bounded number of times, even if the bytes arrive in small pieces.
 */
export class FrameReader {
  readonly #rest = new GrowingBuffer();

  /**
   * Creates a reader. From the first bytes of a frame, `lengthOf` returns the length of the whole
   * frame, or undefined if more bytes are needed. `lengthOf` throws if the length is not allowed.
   */
  constructor(private readonly lengthOf: (bytes: Buffer) => number | undefined) {}

  /** Adds a received piece, and yields each frame that is now complete. */
  *read(piece: Buffer): Generator<Buffer> {
    const isNew = this.#rest.length === 0;
    const all = isNew ? piece : this.#rest.append(piece);
    let bytes = all;
    for (;;) {
      const length = this.lengthOf(bytes);
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
