import { closeSync, fsyncSync, ftruncateSync, openSync } from "node:fs";
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
 * Larger reads than a lane's, and fewer of them: a full segment is scanned in a fraction of a
 * second.
 */
const WINDOW_BYTES = 4 * LOG_BLOCK_BYTES_MAX;

/**
 * Makes a log whole that no process writes to any more, and returns where it ends. An empty segment
 * follows, so that all others can be trimmed.
 */
export async function sealLog(options: { directory: string; logger: Logger }): Promise<number> {
  const { directory, logger } = options;
  const unlock = await lockDirectory(directory);
  try {
    const end = await recover(directory, logger);
    try {
      await closeSegment(await createSegment(directory, end));
    } catch (error) {
      logger.warn({ err: error, directory }, "The last segment of an event log has to stay");
    }
    return end;
  } finally {
    unlock();
  }
}

/**
 * Makes a directory whole after a crash, and returns the sequence number that follows its last
 * record. Only the newest segment can have a torn tail: an older one ended before its successor
 * was acknowledged. The caller holds the directory's lock.
 */
export async function recover(directory: string, logger: Logger): Promise<number> {
  const newest = listSegments(directory).at(-1);
  if (newest === undefined) return 0;
  const fd = openSync(newest.path, "r+");
  try {
    const next = await readOrPassOver(
      directory,
      () => cutTail(fd, newest, logger),
      () => endOfUnreadable(fd, directory, newest, logger),
    );
    // Blocks of a killed process may be in the page cache only, and a reader takes them for
    // durable.
    fsyncSync(fd);
    syncPath(directory);
    return next;
  } finally {
    closeSync(fd);
  }
}

/**
 * Cuts what follows the last whole block. A damaged block before it stays where it is, for the
 * reader to skip: what follows was acknowledged.
 */
async function cutTail(fd: number, segment: Segment, logger: Logger): Promise<number> {
  let next = segment.first;
  let offset = 0;
  for (;;) {
    const stretch = await readBlockRun(fd, { offset, sequenceMin: next, bytesMax: WINDOW_BYTES });
    const last = stretch.blocks.at(-1);
    if (last === undefined) {
      if (stretch.damaged > 0) {
        ftruncateSync(fd, offset);
        const cut = { path: segment.path, offset, cutBytes: stretch.damaged, next };
        logger.warn(cut, "Cut a torn tail from the event log");
      }
      return next;
    }
    if (stretch.damaged > 0) {
      const damage = { path: segment.path, offset, damagedBytes: stretch.damaged };
      logger.error(damage, "Found damage inside the event log; whole blocks follow it");
    }
    offset = stretch.end;
    next = last.end;
  }
}

/**
 * As `cutTail`, for a segment that the disk cannot give back whole. What follows the last whole
 * block may be records that were acknowledged: it stays, and so many numbers as could be theirs
 * are given to no other record.
 */
async function endOfUnreadable(
  fd: number,
  directory: string,
  segment: Segment,
  logger: Logger,
): Promise<number> {
  let next = segment.first;
  let offset = 0;
  for (;;) {
    const range = { offset, sequenceMin: next, bytesMax: WINDOW_BYTES, pastErrors: true };
    const stretch = await readBlockRun(fd, range);
    const last = stretch.blocks.at(-1);
    if (last === undefined) {
      const left = { path: segment.path, offset, unreadableBytes: stretch.damaged };
      logger.error(left, "The disk cannot give back a part of the event log");
      const to = next + Math.ceil(stretch.damaged / RECORD_HEADER_BYTES);
      if (to > next) recordRefused(directory, { from: next, to });
      return to;
    }
    offset = stretch.end;
    next = last.end;
  }
}
