/**
 * What one writer and any number of readers may see of a value that each write raises. A write
 * whose answer did not come may take effect at any later time, or never.
 */
export class Register {
  #last = 0;
  #acknowledged = 0;
  readonly #unknown = new Set<number>();

  /** The value of a write that begins. */
  next(): number {
    this.#last += 1;
    this.#unknown.add(this.#last);
    return this.#last;
  }

  acknowledge(value: number): void {
    this.#unknown.delete(value);
    this.#acknowledged = value;
  }

  /** What a read that begins now has to see at least. */
  acknowledged(): number {
    return this.#acknowledged;
  }

  /** What is wrong with a value that was read, as a sentence; `least` is of the read's begin. */
  fault(least: number, seen: number): string | undefined {
    if (this.#unknown.has(seen)) return undefined;
    if (seen > this.#last) return `${seen} was read, which nobody wrote`;
    return seen < least ? `${seen} was read after ${least} was answered` : undefined;
  }
}
