/** Segment files: `<first sequence number>.segment`, so that a directory listing is the index. */

import { readdirSync } from "node:fs";
import { join } from "node:path";

/** As many digits as the largest safe integer has: names sort as numbers do. */
const NAME_DIGITS = 16;
const NAME = /^(\d{16})\.segment$/;

export interface Segment {
  /** Sequence number that the segment starts at. */
  first: number;
  path: string;
}

export function segmentAt(directory: string, first: number): Segment {
  return { first, path: join(directory, `${String(first).padStart(NAME_DIGITS, "0")}.segment`) };
}

/** The segments of a directory, oldest first. Other files are none of the log's business. */
export function listSegments(directory: string): Segment[] {
  return readdirSync(directory)
    .map((name) => NAME.exec(name)?.[1])
    .filter((digits) => digits !== undefined)
    .sort()
    .map((digits) => segmentAt(directory, Number(digits)));
}
