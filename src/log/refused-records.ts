/**
 * Reads and writes the file `refused` in a log's directory. It lists the sequence numbers of
 * records that the writer refused because the disk failed. These numbers are never reused, and
 * readers do not report their records as missing.
 */

import { fdatasyncSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openFile } from "../disk/open-file.ts";
import { syncPath } from "../disk/sync.ts";
import { codeOf } from "../errors.ts";
import type { Gap } from "./loss-report.ts";

/**
 * Maximum number of lines that readers take from the end of the file `refused`; earlier lines are
 * ignored. Each line is a range of sequence numbers. Readers do not report records with these
 * numbers as missing.
 */
const LINES_MAX = 10_000;

const pathIn = (directory: string) => join(directory, "refused");

/**
 * Adds a range of sequence numbers to the file `refused`, so that readers do not report their
 * records as missing. Returns when the range is on disk. Only the log's writer may call this
 * function.
 */
export function recordRefused(directory: string, { from, to }: Gap): void {
  using file = openFile(pathIn(directory), "a", 0o640);
  writeSync(file.fd, `${from} ${to}\n`);
  fdatasyncSync(file.fd);
  syncPath(directory);
}

/**
 * Returns how many sequence numbers in `gap` belong to records that the writer refused. Readers do
 * not report such records as missing.
 */
export function countRefusedWithin(directory: string, gap: Gap): number {
  let count = 0;
  let counted = gap.from;
  for (const { from, to } of refusedOf(directory)) {
    count += Math.max(0, Math.min(to, gap.to) - Math.max(from, counted));
    // A range begins where the one before began, if no record was written between them.
    counted = Math.max(counted, Math.min(to, gap.to));
  }
  return count;
}

function refusedOf(directory: string): Gap[] {
  let text: string;
  try {
    text = readFileSync(pathIn(directory), "utf8");
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    return [];
  }
  return text
    .trimEnd()
    .split("\n")
    .slice(-LINES_MAX)
    .map((line) => /^(\d+) (\d+)$/.exec(line))
    .filter((match) => match !== null)
    .map(([, from, to]) => ({ from: Number(from), to: Number(to) }));
}
