const nothing = Buffer.alloc(0);
/** Smallest buffer that is allocated, in bytes. */
const BYTES_MIN = 256;

/**
 * Collects bytes that arrive in pieces in one buffer. The buffer at least doubles when full, so
 * collecting n bytes copies at most 3n bytes, however small the pieces are.
 */
export class GrowingBuffer {
  #buffer: Buffer = nothing;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /**
   * Adds a piece and returns a view of all bytes received so far. The view stays valid, because
   * later calls never overwrite these bytes.
   */
  append(piece: Uint8Array): Buffer {
    const length = this.#length + piece.length;
    if (length > this.#buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(2 * length, BYTES_MIN));
      grown.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = grown;
    }
    this.#buffer.set(piece, this.#length);
    this.#length = length;
    return this.#buffer.subarray(0, length);
  }

  /** Removes all bytes. Views that were returned before stay valid. */
  clear(): void {
    this.#buffer = nothing;
    this.#length = 0;
  }
}
