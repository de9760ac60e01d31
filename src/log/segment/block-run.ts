/** Reads sequences of complete blocks from a segment file, and skips damaged bytes. */

import { fstatSync } from "node:fs";
import { type Block, blockAt, findMagic, LOG_BLOCK_BYTES_MAX } from "../block.ts";
import { type ReadAt, readAt, readPastErrors } from "../io/read-at.ts";

/** Complete blocks of a segment file, each of which begins where the one before ends. */
export interface BlockRun {
  /**
   * The blocks in the order of the file; empty when the file holds no complete block after the
   * requested offset.
   */
  blocks: Block[];
  /** Offset in the file at which the first block begins. */
  start: number;
  /** Offset in the file after the last block. The next read starts there. */
  end: number;
  /**
   * Number of bytes before the first block that were skipped because they hold no complete block.
   */
  damaged: number;
}

export interface BlockRunRange {
  offset: number;
  sequenceMin: number;
  bytesMax: number;
  /**
   * Whether pages that the disk cannot read are skipped like damaged bytes. If not, reading such a
   * page throws.
   */
  pastErrors?: boolean;
}

/**
 * Reads consecutive complete blocks, about `bytesMax` bytes in total, beginning at `offset`. When
 * no complete block starts there, searches the file for the next block with a correct checksum.
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

/**
 * Searches for the first complete block at or after `offset`. Reads windows that are large enough
 * for any block.
 */
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

/**
 * Returns the consecutive complete blocks in `window`, the first of which begins at the offset
 * `index`. `base` is the window's offset in the file. Returns no block if the first one's sequence
 * number is below `sequenceMin`.
 */
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
