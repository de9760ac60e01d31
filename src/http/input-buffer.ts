const EMPTY: Buffer = Buffer.alloc(0);

/**
 * Received bytes of one connection that were not handled yet. They are between the offsets `at` and
 * `end` of `bytes`.
 */
export class InputBuffer {
  bytes: Buffer = EMPTY;
  at = 0;
  end = 0;
  /**
   * Offset in `bytes` at which the next search for the end of a request head starts. Earlier
   * searches have shown that no such end begins before this offset.
   */
  searched = 0;

  /** Number of bytes in the buffer that the reader has not consumed yet. */
  get length(): number {
    return this.end - this.at;
  }

  /**
   * Adds received bytes. The buffer may keep `chunk` itself, so the caller must not use `chunk`
   * afterwards. `expected` is the maximum size in bytes of the whole request; no room is reserved
   * beyond it.
   */
  append(chunk: Buffer, expected = Number.POSITIVE_INFINITY): void {
    const { length } = this;
    if (length === 0) {
      this.bytes = chunk;
      this.at = 0;
      this.searched = 0;
      this.end = chunk.length;
      return;
    }
    if (this.end + chunk.length > this.bytes.length || this.at > 0) {
      this.#moveTo(Math.max(Math.min(2 * length, expected), length + chunk.length));
    }
    chunk.copy(this.bytes, this.end);
    this.end += chunk.length;
  }

  /**
   * Frees memory that the buffer does not need. `needed` is `length` to keep the bytes, or 0 to
   * drop them. Kept bytes are moved into a smaller buffer if they fill less than half.
   */
  shrink(needed: number): void {
    if (needed === 0) {
      this.bytes = EMPTY;
      this.at = 0;
      this.end = 0;
    } else if (needed < this.bytes.length / 2) this.#moveTo(needed);
  }

  /** Moves the bytes that were not handled yet into a new buffer of `length` bytes. */
  #moveTo(length: number): void {
    const moved = Buffer.allocUnsafeSlow(length);
    this.bytes.copy(moved, 0, this.at, this.end);
    this.bytes = moved;
    this.searched = Math.max(0, this.searched - this.at);
    this.end -= this.at;
    this.at = 0;
  }
}
