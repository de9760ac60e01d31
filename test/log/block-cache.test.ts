import { expect, test } from "bun:test";
import type { Block } from "../../src/log/block.ts";
import { LOG_BLOCK_BYTES_MAX } from "../../src/log/block.ts";
import { BlockCache } from "../../src/log/block-cache.ts";

/** A block of the largest size, with one empty record. */
function blockOf(first: number): Block {
  return { first, end: first + 1, bytes: Buffer.alloc(LOG_BLOCK_BYTES_MAX) };
}

test("a block cache is bounded in bytes and evicts the oldest reads first", () => {
  const kept = 4;
  const cache = new BlockCache(kept * LOG_BLOCK_BYTES_MAX);
  const count = 3 * kept;
  for (let n = 0; n < count; n++) cache.add(blockOf(n));
  const held = Array.from({ length: count }, (_, n) => n).filter((n) => cache.get(n) !== undefined);
  expect(held).toEqual(Array.from({ length: kept }, (_, n) => count - kept + n));
});

test("a block is cached once, and those that fit its bytes exactly stay", () => {
  const cache = new BlockCache(100);
  const block = (first: number, bytes: number) => ({
    ...{ first, end: first + 1, bytes: Buffer.alloc(bytes) },
  });
  const [one, two, three] = [block(0, 60), block(1, 40), block(2, 1)];
  expect([cache.add(one), cache.add({ ...one }), cache.add(two)]).toEqual([one, one, two]);
  expect(cache.add({ ...one })).toBe(one);
  expect([cache.get(0), cache.get(1), cache.get(2)]).toEqual([one, two, undefined]);
  cache.add(three);
  expect([cache.get(0), cache.get(1), cache.get(2)]).toEqual([undefined, two, three]);
  // The bytes of the evicted block are free again.
  cache.add(block(3, 59));
  expect([1, 2, 3].map((first) => cache.get(first) !== undefined)).toEqual([true, true, true]);
});
