/** Contents in memory that can be trimmed to a number of bytes. */
export interface Trimmable {
  readonly bytes: number;
  /** Deletes the oldest contents until at most `bytesMax` bytes remain. */
  trimTo(bytesMax: number): void;
}

/**
 * Fraction of the limit of a `SharedBytes` to which all parts together are trimmed if trimming one
 * part does not suffice. Below 1, because the next changes would otherwise need to trim all parts
 * again.
 */
const TRIMMED_FRACTION = 3 / 4;

/**
 * Parts that share a limit on their total bytes. Above the limit, first the part that grew is
 * trimmed to an equal share, then all parts if necessary, so that a busy part cannot displace a
 * small one.
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
   * Calls `change`, which changes the bytes of `part`, and adds the part under `key` if it is new.
   * Then trims the parts to at most `bytesMax` bytes together. A part without bytes is removed.
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
