/**
 * Sequence numbers of records that the writer refused because the disk failed. These numbers are
 * never reused. The file `refused` in the log's directory lists them, so that readers do not report
 * these records as missing.
 */

import { fdatasyncSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openFile } from "../disk/open-file.ts";
import { syncPath } from "../disk/sync.ts";
import { codeOf } from "../errors.ts";
import type { Gap } from "./loss-report.ts";

/**
 * Number of lines that are read from the end of the file `refused`. The file lists the sequence
 * numbers of records that were not stored because the disk failed.
 */
const LINES_MAX = 10_000;

const pathIn = (directory: string) => join(directory, "refused");

/**
 * Adds sequence numbers of records that were refused (not stored, because the disk failed) to the
 * file `refused`, durably. Only the log's writer may call it.
 */
export function recordRefused(directory: string, { from, to }: Gap): void {
  using file = openFile(pathIn(directory), "a", 0o640);
  writeSync(file.fd, `${from} ${to}\n`);
  fdatasyncSync(file.fd);
  syncPath(directory);
}

/**
 * Returns how many sequence numbers of `gap` belong to records that were refused (not stored,
 * because the disk failed). Readers do not report these records as missing.
 */
export function countRefusedWithin(directory: string, gap: Gap): number {
  let count = 0;
  for (const { from, to } of refusedOf(directory)) {
    count += Math.max(0, Math.min(to, gap.to) - Math.max(from, gap.from));
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
