import {
  close,
  constants,
  fdatasync,
  ftruncate,
  ftruncateSync,
  open,
  unlink,
  writev,
  writevSync,
} from "node:fs";
import { promisify } from "node:util";
import { syncPath } from "../../disk/sync.ts";
import { codeOf } from "../../errors.ts";
import { LOG_BLOCK_BYTES_MAX } from "../block.ts";
import { PAGE_BYTES, pageAligned } from "../io/page.ts";
import { type Segment, segmentOf } from "./segments.ts";

/**
 * Duration in milliseconds below which a write counts as fast. Only after a fast write may the next
 * one be synchronous, which blocks the event loop.
 */
const LOG_BLOCKING_WRITE_MS_MAX = 1;
/** Size in bytes above which a batch is never written synchronously: a pool thread writes it. */
const LOG_BLOCKING_WRITE_BYTES_MAX = 256 << 10;

const openFile = promisify(open);
const closeFile = promisify(close);
const truncateFile = promisify(ftruncate);
const syncFile = promisify(fdatasync);
const removeFile = promisify(unlink);

/**
 * Flags with which a segment file is opened. With O_DSYNC, a write returns when the data is on
 * disk, and takes 5 to 15 % less CPU time than a write followed by fdatasync (measured at 0.4 to 80
 * KB).
 */
const FLAGS = constants.O_WRONLY | constants.O_DSYNC;

/** A segment file that is open for writing. */
export interface SegmentFile extends Segment {
  fd: number;
  /**
   * Second file descriptor of the segment file, opened with O_DIRECT; undefined when the file
   * system or disk refuses O_DIRECT.
   */
  direct: number | undefined;
  /** Offset in the file after the last block that is on disk. */
  end: number;
  /** Whether the last write was so fast that the next one is synchronous if it is small. */
  quick: boolean;
}

/**
 * Creates the file of a segment whose first sequence number is `first`, or reuses an existing empty
 * file with its name. Resolves when the file's name is durable.
 */
export async function createSegment(directory: string, first: number): Promise<SegmentFile> {
  const segment = segmentOf(directory, first);
  const fd = await openFile(segment.path, FLAGS | constants.O_CREAT, 0o640);
  try {
    syncPath(directory);
  } catch (error) {
    await closeFile(fd);
    throw error;
  }
  const direct = await openFile(segment.path, FLAGS | constants.O_DIRECT).catch(() => undefined);
  return { ...segment, fd, direct, end: 0, quick: false };
}

/**
 * Writes blocks at the end of the segment. If it rejects, the caller must truncate the file to
 * `end`, because a part may be on disk. A small write after a fast one is synchronous and blocks
 * the event loop. Measured with 256 connections: this allows 90,000 pixel requests per CPU-second,
 * and writing in threads 78,000.
 */
export async function writeBlocks(segment: SegmentFile, blocks: Buffer[]): Promise<void> {
  let bytes = 0;
  for (const block of blocks) bytes += block.length;
  const put = mayBlock(segment, bytes) ? writevSync : write;
  const startedAt = performance.now();
  const written = await putBlocks(segment, blocks, put);
  segment.quick = performance.now() - startedAt < LOG_BLOCKING_WRITE_MS_MAX;
  // A short write means a full disk or a size limit, so writing the rest would fail too.
  if (written !== bytes) {
    const error = new Error(`The disk took ${written} of ${bytes} bytes`);
    throw Object.assign(error, { code: "ENOSPC" });
  }
  segment.end += bytes;
}

/** Whether the next write, of `bytes` bytes, is to be synchronous, which blocks the event loop. */
export function mayBlock({ quick }: Pick<SegmentFile, "quick">, bytes: number): boolean {
  return quick && bytes <= LOG_BLOCKING_WRITE_BYTES_MAX;
}

type Put = (fd: number, blocks: Buffer[], position: number) => number | Promise<number>;

/**
 * Writes the blocks, with direct I/O if they consist of whole pages, and returns the number of
 * bytes written. Measured at one write of 8 KB per millisecond: 35 of 20,000 writes took more than
 * 1 ms with direct I/O, and 105 without it.
 */
async function putBlocks(segment: SegmentFile, blocks: Buffer[], put: Put): Promise<number> {
  const { fd, direct, end } = segment;
  const wholePages =
    blocks.every((block) => block.length % PAGE_BYTES === 0) && end % PAGE_BYTES === 0;
  if (direct === undefined || !wholePages) return put(fd, blocks, end);
  try {
    return await put(direct, blocks, end);
  } catch (error) {
    // The kernel refuses direct I/O before it writes anything: this disk needs larger units than
    // pages.
    if (codeOf(error) !== "EINVAL") throw error;
    segment.direct = undefined;
    await closeFile(direct);
    return put(fd, blocks, end);
  }
}

/**
 * Writes a test block to the segment and removes it again. Rejects when the disk cannot write the
 * block.
 */
export async function probeSegment(segment: SegmentFile): Promise<void> {
  const zeros = pageAligned(LOG_BLOCK_BYTES_MAX).fill(0);
  await writeBlocks(segment, [zeros]);
  segment.end -= zeros.length;
  await truncateFile(segment.fd, segment.end);
  await syncFile(segment.fd);
}

/**
 * Closes a segment whose write failed. Truncates the file after the last block that is on disk, if
 * the disk still allows that.
 */
export async function abandonSegment(segment: SegmentFile): Promise<void> {
  try {
    ftruncateSync(segment.fd, segment.end);
  } catch {
    // The bytes stay when the truncation fails. Their sequence numbers are never reused, and
    // readers check each block.
  }
  await closeSegment(segment);
}

export async function closeSegment(segment: SegmentFile): Promise<void> {
  // Every block is on disk already: an error here loses nothing.
  for (const fd of [segment.fd, segment.direct]) {
    if (fd !== undefined) await closeFile(fd).catch(() => {});
  }
}

export async function removeSegment(segment: Segment): Promise<void> {
  await removeFile(segment.path).catch(() => {});
}

function write(fd: number, buffers: Buffer[], position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    writev(fd, buffers, position, (error, bytes) => (error ? reject(error) : resolve(bytes)));
  });
}
