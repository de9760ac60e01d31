import { expect, test } from "bun:test";
import type { Block } from "../../src/log/block.ts";
import { LOG_BLOCK_BYTES_MAX } from "../../src/log/block.ts";
import { BlockCache, LOG_CACHE_BYTES_MAX } from "../../src/log/block-cache.ts";

/** A block of the largest size, with one empty record. */
function blockOf(first: number): Block {
  return { first, end: first + 1, bytes: Buffer.alloc(LOG_BLOCK_BYTES_MAX) };
}

test("a block cache is bounded in bytes and evicts the oldest reads first", () => {
  const cache = new BlockCache();
  const kept = LOG_CACHE_BYTES_MAX / LOG_BLOCK_BYTES_MAX;
  const count = 3 * kept;
  for (let n = 0; n < count; n++) cache.add(blockOf(n));
  const held = Array.from({ length: count }, (_, n) => n).filter((n) => cache.get(n) !== undefined);
  expect(held).toEqual(Array.from({ length: kept }, (_, n) => count - kept + n));
});
