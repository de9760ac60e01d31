import { assert } from "../assert.ts";
import type { Block } from "./block.ts";

/** Largest total size in bytes of the blocks that one log reader caches. */
export const LOG_CACHE_BYTES_MAX = 16 << 20;

/**
 * Cache of the blocks that were read last from one log. The key is the sequence number of a block's
 * first record. All readers of the log share the cache.
 */
export class BlockCache {
  readonly #blocks = new Map<number, Block>();
  #bytes = 0;

  constructor(readonly bytesMax = LOG_CACHE_BYTES_MAX) {}

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
   * Removes the blocks that were added first until the cache fits `bytesMax`. The order of use does
   * not matter, because each consumer of the log reads a block only once.
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
