/** Contents in memory that can be trimmed to a number of bytes. */
export interface Trimmable {
  readonly bytes: number;
  /** Deletes the oldest contents until at most `bytesMax` bytes remain. */
  trimTo(bytesMax: number): void;
}

/**
 * Fraction of the limit to which all parts of a `SharedBytes` are trimmed, if trimming only the
 * changed part was not enough. The fraction is below 1, so that this is seldom necessary.
 */
const TRIMMED_FRACTION = 3 / 4;

/**
 * Parts that share a limit on their total bytes. Each part may use what the other parts leave free.
 * When the limit is reached, each part keeps at most an equal share, so that a busy part cannot
 * displace the contents of a quiet one.
 */
export class SharedBytes<Part extends Trimmable> implements Trimmable {
  readonly #parts = new Map<string, Part>();
  bytes = 0;

  get(key: string): Part | undefined {
    return this.#parts.get(key);
  }

  parts(): Iterable<[key: string, part: Part]> {
    return this.#parts;
  }

  /**
   * Adds `part` under `key` if it is new, and calls `change`, which changes the bytes of this part.
   * Then trims the parts until they have at most `bytesMax` bytes together. Removes parts without
   * bytes.
   */
  change(key: string, part: Part, bytesMax: number, change: () => void): void {
    this.#parts.set(key, part);
    this.#count(key, part, change);
    if (this.bytes <= bytesMax) return;
    this.#count(key, part, () => part.trimTo(bytesMax / this.#parts.size));
    if (this.bytes > bytesMax) this.trimTo(bytesMax * TRIMMED_FRACTION);
  }

  trimTo(bytesMax: number): void {
    const share = bytesMax / this.#parts.size;
    for (const [key, part] of this.#parts) this.#count(key, part, () => part.trimTo(share));
  }

  #count(key: string, part: Part, change: () => void): void {
    const before = part.bytes;
    change();
    this.bytes += part.bytes - before;
    if (part.bytes === 0) this.#parts.delete(key);
  }
}
