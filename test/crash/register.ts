/**
 * Register that each write increments: checks the values that readers see. A write without a
 * response may take effect at any later time, or never.
 */
export class Register {
  #last = 0;
  #acknowledged = 0;
  readonly #unknown = new Set<number>();

  /** Begins a write; returns its value. */
  next(): number {
    this.#last += 1;
    this.#unknown.add(this.#last);
    return this.#last;
  }

  acknowledge(value: number): void {
    this.#unknown.delete(value);
    this.#acknowledged = value;
  }

  /** Returns the minimum that a read which begins now must return. */
  acknowledged(): number {
    return this.#acknowledged;
  }

  /** Describes the fault of a read value; `least` is `acknowledged()` when the read began. */
  fault(least: number, seen: number): string | undefined {
    if (this.#unknown.has(seen)) return undefined;
    if (seen > this.#last) return `${seen} was read, which no client wrote`;
    return seen < least ? `${seen} was read after ${least} was answered` : undefined;
  }
}
