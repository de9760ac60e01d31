/**
 * Register: the values that one writer and any number of readers may see when each write raises it. A write
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

  /** Least value that a read beginning now must see. */
  acknowledged(): number {
    return this.#acknowledged;
  }

  /** Fault of a value that was read, as a sentence; `least` was taken when the read began. */
  fault(least: number, seen: number): string | undefined {
    if (this.#unknown.has(seen)) return undefined;
    if (seen > this.#last) return `${seen} was read, which no client wrote`;
    return seen < least ? `${seen} was read after ${least} was answered` : undefined;
  }
}
