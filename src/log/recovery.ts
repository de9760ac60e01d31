import { fsyncSync, ftruncateSync } from "node:fs";
import { openFile } from "../disk/open-file.ts";
import { syncPath } from "../disk/sync.ts";
import type { Logger } from "../observe/log.ts";
import { LOG_BLOCK_BYTES_MAX, RECORD_HEADER_BYTES } from "./block.ts";
import { readOrPassOver } from "./io/unreadable.ts";
import { lockDirectory } from "./lock.ts";
import { recordRefused } from "./refused-records.ts";
import { readBlockRun } from "./segment/block-run.ts";
import { closeSegment, createSegment } from "./segment/segment-file.ts";
import { listSegments, type Segment } from "./segment/segments.ts";

/**
 * Number of bytes that recovery reads at once from a segment. A log reader reads fewer at once.
 * Recovery reads more, to scan a full segment in a fraction of a second.
 */
const WINDOW_BYTES = 4 * LOG_BLOCK_BYTES_MAX;

/**
 * Recovers a log that will not be written again, and returns the sequence number after its last
 * record. Adds an empty segment, so that `trim`, which always keeps the newest segment, can delete
 * all records.
 */
export async function sealLog(options: { directory: string; logger: Logger }): Promise<number> {
  const { directory, logger } = options;
  const unlock = await lockDirectory(directory);
  try {
    const end = await recover(directory, logger);
    try {
      await closeSegment(await createSegment(directory, end));
    } catch (error) {
      logger.warn({ err: error, directory }, "last segment of an event log cannot be closed");
    }
    return end;
  } finally {
    unlock();
  }
}

/**
 * Repairs a log's newest segment after a crash, and returns the sequence number after the log's
 * last record. Older segments need no repair, because a segment is complete before the next one
 * starts. The caller must hold the lock of the directory.
 */
export async function recover(directory: string, logger: Logger): Promise<number> {
  const newest = listSegments(directory).at(-1);
  if (newest === undefined) return 0;
  using file = openFile(newest.path, "r+");
  const next = await readOrPassOver(
    directory,
    () => cutTail(file.fd, newest, logger),
    () => endOfUnreadable(file.fd, directory, newest, logger),
  );
  // Syncs the segment, because a killed process may have left blocks in the page cache only.
  // Readers would take these blocks for durable.
  fsyncSync(file.fd);
  syncPath(directory);
  return next;
}

/**
 * Truncates a segment file after its last complete block, and returns the sequence number after the
 * last record. Damaged blocks before that block stay in the file, because the blocks after them
 * hold acknowledged records.
 */
async function cutTail(fd: number, segment: Segment, logger: Logger): Promise<number> {
  const { path } = segment;
  const { next, offset, damaged } = await lastBlockEnd(fd, segment, {
    onDamage(at, damagedBytes) {
      const damage = { path, offset: at, damagedBytes };
      logger.error(damage, "damage inside the event log, whole blocks follow it");
    },
  });
  if (damaged > 0) {
    ftruncateSync(fd, offset);
    logger.warn({ path, offset, cutBytes: damaged, next }, "torn tail cut from the event log");
  }
  return next;
}

/**
 * Returns the sequence number at which a log continues if the disk cannot read its newest segment
 * completely: a number above all that the unreadable bytes may contain. These bytes stay in the
 * file, because they may hold acknowledged records.
 */
async function endOfUnreadable(
  fd: number,
  directory: string,
  segment: Segment,
  logger: Logger,
): Promise<number> {
  const { next, offset, damaged } = await lastBlockEnd(fd, segment, { pastErrors: true });
  const left = { path: segment.path, offset, unreadableBytes: damaged };
  logger.error(left, "disk cannot read a part of the event log");
  const to = next + Math.ceil(damaged / RECORD_HEADER_BYTES);
  if (to > next) recordRefused(directory, { from: next, to });
  return to;
}

interface BlockEndOptions {
  pastErrors?: boolean;
  onDamage?(offset: number, bytes: number): void;
}

/**
 * Finds the end of the last complete block in a segment file. Calls `onDamage` for damaged bytes
 * before that block. With `pastErrors`, counts pages that the disk cannot read as damaged. In the
 * result:
 *
 * - `next`: sequence number after the block
 * - `offset`: offset of the block's end
 * - `damaged`: number of bytes after the block
 */
async function lastBlockEnd(
  fd: number,
  segment: Segment,
  { pastErrors = false, onDamage }: BlockEndOptions,
) {
  let next = segment.first;
  let offset = 0;
  for (;;) {
    const range = { offset, sequenceMin: next, bytesMax: WINDOW_BYTES, pastErrors };
    const { blocks, end, damaged } = await readBlockRun(fd, range);
    const last = blocks.at(-1);
    if (last === undefined) return { next, offset, damaged };
    if (damaged > 0) onDamage?.(offset, damaged);
    offset = end;
    next = last.end;
  }
}
