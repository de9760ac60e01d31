import { join } from "node:path";
import { lockFile, waitForFile } from "../disk/lock.ts";
import { StartError } from "../errors.ts";
import { LOG_LOCK_MS_MAX } from "../settings/limits.ts";

/**
 * Locks a log directory for this process, so that no other process writes it. Returns the function
 * that unlocks it. Waits while another process holds the lock, and throws `StartError` if it still
 * holds it after `waitMs` milliseconds. The kernel releases the lock of a process that dies.
 */
export async function lockDirectory(
  directory: string,
  waitMs: number = LOG_LOCK_MS_MAX,
): Promise<() => void> {
  const unlock = await waitForFile(join(directory, "lock"), "exclusive", waitMs);
  if (unlock !== undefined) return unlock;
  throw new StartError(
    `Expected to be the only process that writes ${directory}, ` +
      `but another one held its lock for ${waitMs / 1000} s`,
  );
}

/**
 * Tries to lock a log directory, so that this process may delete segments. Returns the function
 * that unlocks it, or undefined while a backup copies the directory.
 */
export const tryTrimming = (directory: string) => lockFile(trimming(directory), "exclusive");

/**
 * Prevents all processes from deleting segments of a log directory. Returns the function that
 * allows deletions again. If a deletion is in progress, waits up to `waitMs` milliseconds for its
 * end, and throws `StartError` if the deletion has not ended by then.
 */
export async function withoutTrimming(directory: string, waitMs: number): Promise<() => void> {
  const unlock = await waitForFile(trimming(directory), "shared", waitMs);
  if (unlock !== undefined) return unlock;
  throw new StartError(`${directory} is being trimmed for more than ${waitMs / 1000} s`);
}

const trimming = (directory: string) => join(directory, "trimming");
