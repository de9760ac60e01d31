import { assert } from "../assert.ts";
import { type Block, recordsOf } from "./block.ts";
import type { LogRecord } from "./event-log.ts";

/** Bytes of blocks that a reader keeps in memory. */
export const LOG_CACHE_BYTES_MAX = 16 << 20;

export interface CachedBlock extends Block {
  records: LogRecord[];
}

/** The last blocks read, by first sequence number. Lanes that follow the log's end share them. */
export class BlockCache {
  readonly #blocks = new Map<number, CachedBlock>();
  #bytes = 0;

  constructor(readonly bytesMax = LOG_CACHE_BYTES_MAX) {}

  get(first: number): CachedBlock | undefined {
    return this.#blocks.get(first);
  }

  add(block: Block): CachedBlock {
    const known = this.#blocks.get(block.first);
    if (known !== undefined) return known;
    const cached = { ...block, records: recordsOf(block) };
    this.#blocks.set(block.first, cached);
    this.#bytes += block.bytes.length;
    this.#evict();
    return cached;
  }

  /**
   * Evicts the oldest reads first: the log's end moves on, and a lane that is behind reads each
   * block once.
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
