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

/** Bytes of one read, more than a lane's: a full segment is scanned in a fraction of a second. */
const WINDOW_BYTES = 4 * LOG_BLOCK_BYTES_MAX;

/**
 * Recovers a log that no process writes any more, and returns its end. Adds an empty segment, so that
 * all others can be trimmed.
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
 * Recovers a directory after a crash, and returns the sequence number that follows its last
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
    // Blocks of a killed process may be in the page cache only, and a reader would take them for
    // durable.
    fsyncSync(fd);
    syncPath(directory);
    return next;
  } finally {
    closeSync(fd);
  }
}

/**
 * Cuts the bytes after the last whole block. A damaged block before it stays, for the reader to skip:
 * the blocks after it were acknowledged.
 */
async function cutTail(fd: number, segment: Segment, logger: Logger): Promise<number> {
  let next = segment.first;
  let offset = 0;
  for (;;) {
    const run = await readBlockRun(fd, { offset, sequenceMin: next, bytesMax: WINDOW_BYTES });
    const last = run.blocks.at(-1);
    if (last === undefined) {
      if (run.damaged > 0) {
        ftruncateSync(fd, offset);
        const cut = { path: segment.path, offset, cutBytes: run.damaged, next };
        logger.warn(cut, "torn tail cut from the event log");
      }
      return next;
    }
    if (run.damaged > 0) {
      const damage = { path: segment.path, offset, damagedBytes: run.damaged };
      logger.error(damage, "damage inside the event log, whole blocks follow it");
    }
    offset = run.end;
    next = last.end;
  }
}

/**
 * Finds the end of a segment that the disk cannot read as a whole. The bytes after the last whole
 * block may be acknowledged records: they stay, and no other record gets a number that may be theirs.
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
    const run = await readBlockRun(fd, range);
    const last = run.blocks.at(-1);
    if (last === undefined) {
      const left = { path: segment.path, offset, unreadableBytes: run.damaged };
      logger.error(left, "disk cannot read a part of the event log");
      const to = next + Math.ceil(run.damaged / RECORD_HEADER_BYTES);
      if (to > next) recordRefused(directory, { from: next, to });
      return to;
    }
    offset = run.end;
    next = last.end;
  }
}
