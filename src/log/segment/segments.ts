/** Segment files: `<first sequence number>.segment`, so that a directory listing is the index. */

import { readdirSync } from "node:fs";
import { join } from "node:path";

/** Digits of the largest safe integer, so that names sort as numbers do. */
const NAME_DIGITS = 16;
const NAME = /^(\d{16})\.segment$/;

export interface Segment {
  /** Sequence number at which the segment starts. */
  first: number;
  path: string;
}

export function segmentOf(directory: string, first: number): Segment {
  return { first, path: join(directory, `${String(first).padStart(NAME_DIGITS, "0")}.segment`) };
}

/** The segments of a directory, oldest first. Other files are ignored. */
export function listSegments(directory: string): Segment[] {
  return readdirSync(directory)
    .map((name) => NAME.exec(name)?.[1])
    .filter((digits) => digits !== undefined)
    .sort()
    .map((digits) => segmentOf(directory, Number(digits)));
}
