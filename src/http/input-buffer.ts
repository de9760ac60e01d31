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
   * Adds received bytes. If the buffer is empty, `chunk` becomes the buffer without a copy, so the
   * caller must not use `chunk` afterwards. Otherwise copies `chunk` to the buffer. A new buffer,
   * if one is necessary, has twice the size of the old bytes, but at most `expected` bytes (the
   * size of the whole request). If the old bytes and `chunk` together need more, the new buffer has
   * exactly the size that they need.
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
   * Frees memory that the buffer does not need. `needed` is the number of bytes that it must keep.
   * If they fill less than half of the buffer, moves them into a buffer of `needed` bytes. If
   * `needed` is 0, drops all bytes.
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
