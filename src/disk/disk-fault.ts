import { statfsSync } from "node:fs";
import { messageOf, systemReason } from "../errors.ts";

/** Error codes of a full disk: names and numbers from system calls, and numbers from LMDB. */
const FULL: readonly unknown[] = ["ENOSPC", "EDQUOT", 28, 122];
/**
 * Number of free bytes below which an error code in `FULL` means that the disk itself is full. With
 * more free bytes, the code means that a quota or the inodes are used up.
 */
const FULL_FREE_BYTES_MAX = 64 << 20;
const READ_ONLY: readonly unknown[] = ["EROFS", 30];
const FAILING: readonly unknown[] = ["EIO", 5];
const FORBIDDEN: readonly unknown[] = ["EACCES", "EPERM", 13, 1];

/**
 * Returns a part of a sentence that says why a write to `directory` failed with `error`, and what
 * the operator can do. Never throws.
 */
export function describeDiskFault(directory: string, error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  if (FULL.includes(code)) return describeFullDisk(directory);
  if (READ_ONLY.includes(code)) {
    return `the disk of ${directory} is mounted read-only: check the disk and mount it for writing`;
  }
  if (FAILING.includes(code)) {
    // LMDB reports EIO for a write that a full disk accepted in part.
    return freeBytesOf(directory) === 0
      ? describeFullDisk(directory)
      : `the disk of ${directory} fails (EIO): check the disk`;
  }
  if (FORBIDDEN.includes(code)) {
    return `this process must not write to ${directory}: give its user the right to`;
  }
  return `a write to ${directory} fails: ${typeof code === "string" ? systemReason(error) : messageOf(error)}`;
}

function describeFullDisk(directory: string): string {
  const freeBytes = freeBytesOf(directory);
  if (freeBytes === undefined) return `the disk of ${directory} is full: make space on it`;
  const free = freeBytes.toLocaleString("en");
  // A quota, or a lack of free inodes, refuses writes although the disk has free bytes.
  return freeBytes < FULL_FREE_BYTES_MAX
    ? `the disk of ${directory} is full (${free} bytes free): make space on it`
    : `the disk of ${directory} takes no more, although ${free} bytes are free: check quotas and inodes`;
}

function freeBytesOf(directory: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}
