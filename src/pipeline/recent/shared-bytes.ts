/** Contents in memory that can be trimmed to a number of bytes. */
export interface Trimmable {
  readonly bytes: number;
  /** Deletes the oldest contents until at most `bytesMax` bytes remain. */
  trimTo(bytesMax: number): void;
}

/**
 * Fraction of the limit of a `SharedBytes` to which all its parts are trimmed together when
 * trimming the changed part alone does not suffice. The fraction is below 1, so that the next
 * changes find free space and need no trimming of all parts.
 */
const TRIMMED_FRACTION = 3 / 4;

/**
 * Parts that share a limit on their total bytes. A part may use all bytes that the other parts
 * leave free. When the total exceeds the limit, the part that grew is trimmed to the limit divided
 * by the number of parts. If that is not enough, all parts are trimmed to equal shares of
 * `TRIMMED_FRACTION` of the limit. A busy part therefore cannot displace the contents of a small
 * one.
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
   * If all parts then have more than `bytesMax` bytes together, trims them to at most this number.
   * A part without bytes is removed.
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
