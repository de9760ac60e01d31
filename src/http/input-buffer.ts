const EMPTY: Buffer = Buffer.alloc(0);

/** The bytes of one connection that no request has consumed: `[at, end)` of `bytes`. */
export class InputBuffer {
  bytes: Buffer = EMPTY;
  at = 0;
  end = 0;
  /** Offset before which no head ends. */
  searched = 0;

  /** Bytes that wait. */
  get length(): number {
    return this.end - this.at;
  }

  /** Takes bytes that came, without a copy where none wait; the buffer may change them. */
  append(chunk: Buffer): void {
    const { length } = this;
    if (length === 0) {
      this.bytes = chunk;
      this.at = 0;
      this.searched = 0;
      this.end = chunk.length;
      return;
    }
    if (this.end + chunk.length > this.bytes.length || this.at > 0) {
      this.#moveTo(Math.max(2 * length, length + chunk.length));
    }
    chunk.copy(this.bytes, this.end);
    this.end += chunk.length;
  }

  /** Lets go of the memory when less than half of it holds the `needed` bytes that wait. */
  shrink(needed: number): void {
    if (needed === 0) this.bytes = EMPTY;
    else if (needed < this.bytes.length / 2) this.#moveTo(needed);
  }

  /** Moves the bytes that wait into a buffer of this length. */
  #moveTo(length: number): void {
    const moved = Buffer.allocUnsafeSlow(length);
    this.bytes.copy(moved, 0, this.at, this.end);
    this.bytes = moved;
    this.searched = Math.max(0, this.searched - this.at);
    this.end -= this.at;
    this.at = 0;
  }
}
