/**
 * Sequence numbers of records that were refused because the disk failed. No other record gets them;
 * the file `refused` beside the segments says that no record is missing there.
 */

import { closeSync, fdatasyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { syncPath } from "../disk/sync.ts";
import { codeOf } from "../errors.ts";
import type { Gap } from "./loss-report.ts";

/** Last lines of the file that are read. */
const LINES_MAX = 10_000;

const pathIn = (directory: string) => join(directory, "refused");

/** Notes refused numbers, which are on disk when it returns. Called by the log's writer alone. */
export function recordRefused(directory: string, { from, to }: Gap): void {
  const fd = openSync(pathIn(directory), "a", 0o640);
  try {
    writeSync(fd, `${from} ${to}\n`);
    fdatasyncSync(fd);
  } finally {
    closeSync(fd);
  }
  syncPath(directory);
}

/** Counts the refused numbers within a gap. */
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
