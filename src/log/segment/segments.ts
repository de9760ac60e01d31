/**
 * Segment files of a log directory. A file is named `<first sequence number>.segment`, so that a
 * list of the directory's files tells which file holds a record.
 */

import { readdirSync } from "node:fs";
import { join } from "node:path";

/**
 * Number of digits in a segment's file name, enough for the largest safe integer. Names are padded
 * with zeros, so that they sort like numbers.
 */
const NAME_DIGITS = 16;
const NAME = /^(\d{16})\.segment$/;

export interface Segment {
  /** Sequence number of the segment's first record. */
  first: number;
  path: string;
}

export function segmentOf(directory: string, first: number): Segment {
  return { first, path: join(directory, `${String(first).padStart(NAME_DIGITS, "0")}.segment`) };
}

/** Returns the segments of a log directory, oldest first. Ignores other files. */
export function listSegments(directory: string): Segment[] {
  return readdirSync(directory)
    .map((name) => NAME.exec(name)?.[1])
    .filter((digits) => digits !== undefined)
    .sort()
    .map((digits) => segmentOf(directory, Number(digits)));
}
