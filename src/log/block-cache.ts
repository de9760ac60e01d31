import { assert } from "../assert.ts";
import type { Block } from "./block.ts";

/**
 * Cache of the blocks of one log that were read last. All consumers of the log share it. A block's
 * key is the sequence number of its first record.
 */
export class BlockCache {
  readonly #blocks = new Map<number, Block>();
  #bytes = 0;

  /** `bytesMax` is the maximum total size of the cached blocks in bytes. */
  constructor(readonly bytesMax: number) {}

  get(first: number): Block | undefined {
    return this.#blocks.get(first);
  }

  add(block: Block): Block {
    const known = this.#blocks.get(block.first);
    if (known !== undefined) return known;
    this.#blocks.set(block.first, block);
    this.#bytes += block.bytes.length;
    this.#evict();
    return block;
  }

  /**
   * Removes blocks until the cache fits `bytesMax`, beginning with the block that was added first.
   * Ignores when a block was last used, because each consumer of the log reads a block only once.
   */
  #evict(): void {
    for (const block of this.#blocks.values()) {
      if (this.#bytes <= this.bytesMax) return;
      this.#blocks.delete(block.first);
      this.#bytes -= block.bytes.length;
      assert(this.#bytes >= 0, "A block cache holds no less than 0 bytes");
    }
  }
}
