/** Reads runs of whole blocks from a segment file, and passes over damage. */

import { fstatSync } from "node:fs";
import { type Block, blockAt, findMagic, LOG_BLOCK_BYTES_MAX } from "../block.ts";
import { type ReadAt, readAt, readPastErrors } from "../io/read-at.ts";

/** Consecutive whole blocks of a segment. */
export interface BlockRun {
  /** Whole blocks without a gap; empty when no whole block follows `offset`. */
  blocks: Block[];
  /** Offset of the first block. */
  start: number;
  /** Offset after the last block, where the next run starts. */
  end: number;
  /** Bytes that were skipped because they hold no whole block. */
  damaged: number;
}

export interface BlockRunRange {
  offset: number;
  sequenceMin: number;
  bytesMax: number;
  /**
   * Reads pages that the disk cannot read as zeros, which hold no block; else such a page is an
   * error.
   */
  pastErrors?: boolean;
}

/**
 * Reads about `bytesMax` of whole blocks from `offset` on. Where no whole block starts at `offset`,
 * the file is searched for the next block whose checksum is right.
 */
export async function readBlockRun(fd: number, range: BlockRunRange): Promise<BlockRun> {
  const { offset, sequenceMin, bytesMax } = range;
  const readWindow = range.pastErrors ? readPastErrors : readAt;
  const size = fstatSync(fd).size;
  const near = await readWindow(fd, offset, Math.min(size - offset, bytesMax));
  const found = follow(near, 0, offset, sequenceMin);
  if (found.blocks.length > 0 || size <= offset) return found;
  return search(fd, offset, size, sequenceMin, readWindow);
}

/** The first whole block at `offset` or after it; the window used here holds any block. */
async function search(
  fd: number,
  offset: number,
  size: number,
  sequenceMin: number,
  readWindow: ReadAt,
): Promise<BlockRun> {
  let at = offset;
  while (at < size) {
    const window = await readWindow(fd, at, Math.min(size - at, 2 * LOG_BLOCK_BYTES_MAX));
    // A candidate in the window's second half may be cut by the window's end, so the next window
    // starts there.
    let i = findMagic(window, 0);
    for (; i >= 0 && i < LOG_BLOCK_BYTES_MAX; i = findMagic(window, i + 1)) {
      const found = follow(window, i, at, sequenceMin);
      if (found.blocks.length > 0) return { ...found, damaged: at + i - offset };
    }
    at += LOG_BLOCK_BYTES_MAX;
  }
  return { blocks: [], start: size, end: size, damaged: size - offset };
}

/** The blocks of a window from `index` on, as long as each follows the last without a gap. */
function follow(window: Buffer, index: number, base: number, sequenceMin: number): BlockRun {
  const blocks: Block[] = [];
  let at = index;
  let expected = sequenceMin;
  for (;;) {
    const block = blockAt(window, at, expected);
    if (block === undefined) break;
    blocks.push(block);
    at += block.bytes.length;
    expected = block.end;
  }
  return { blocks, start: base + index, end: base + at, damaged: 0 };
}
