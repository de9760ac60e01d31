/** Something that holds a number of bytes and can delete the oldest of them. */
export interface Trimmable {
  readonly bytes: number;
  /** Deletes the oldest contents until at most `bytesMax` bytes remain. */
  trimTo(bytesMax: number): void;
}

/**
 * Fraction of the limit down to which all parts are trimmed when trimming one did not suffice, so
 * that this happens seldom.
 */
const TRIMMED_FRACTION = 3 / 4;

/**
 * Parts that share a number of bytes. Each part may use what the others leave free. When nothing is
 * free, each part may keep an equal share, so that a busy part cannot displace a quiet one.
 */
export class SharedBytes<Part extends Trimmable> implements Trimmable {
  readonly #parts = new Map<string, Part>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): Part | undefined {
    return this.#parts.get(key);
  }

  parts(): Iterable<[key: string, part: Part]> {
    return this.#parts;
  }

  /**
   * Changes one part by `change`, which may add it. Then trims parts until all together have at most
   * `bytesMax` bytes. Forgets parts without bytes.
   */
  change(key: string, part: Part, bytesMax: number, change: () => void): void {
    this.#parts.set(key, part);
    this.#count(key, part, change);
    if (this.#bytes <= bytesMax) return;
    this.#count(key, part, () => part.trimTo(bytesMax / this.#parts.size));
    if (this.#bytes > bytesMax) this.trimTo(bytesMax * TRIMMED_FRACTION);
  }

  trimTo(bytesMax: number): void {
    const share = bytesMax / this.#parts.size;
    for (const [key, part] of this.#parts) this.#count(key, part, () => part.trimTo(share));
  }

  #count(key: string, part: Part, change: () => void): void {
    const before = part.bytes;
    change();
    this.#bytes += part.bytes - before;
    if (part.bytes === 0) this.#parts.delete(key);
  }
}
