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
 * record. Adds an empty segment, because `trim` never deletes the newest one. It can then delete
 * all segments that have records.
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
 * Repairs a log directory after a crash, and returns the sequence number after the log's last
 * record. Only the newest segment can need a repair, because a writer starts a segment only after
 * the last block of the previous one is complete. The caller must hold the lock of the directory.
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
 * last record. Damaged blocks before that block stay in the file and are skipped by readers,
 * because the blocks after them hold acknowledged records.
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
 * Returns the sequence number at which a log continues when the disk cannot read its newest segment
 * completely. The unreadable bytes after the last readable block stay in the file, because they may
 * hold acknowledged records. The returned number is above every sequence number that they may
 * contain.
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
 * Reads a segment file to find the end of its last complete block. In the result, `next` is the
 * sequence number after the block, `offset` the offset of its end, and `damaged` the number of
 * bytes after it. Damaged bytes before a complete block are reported to `onDamage` with their
 * offset. With `pastErrors`, pages that the disk cannot read are skipped like damaged bytes.
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
