import { join } from "node:path";
import { lockFile, waitForFile } from "../disk/lock.ts";
import { StartError } from "../errors.ts";
import { LOG_LOCK_MS_MAX } from "../settings/limits.ts";

/**
 * Locks a log directory, so that no other process writes it, and returns the function that unlocks
 * it. Waits up to `waitMs` milliseconds for the lock, then throws `StartError`. The kernel releases
 * the lock of a process that dies.
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
 * Prevents all processes from deleting segments of a log directory, and returns the function that
 * allows deletions again. Waits up to `waitMs` milliseconds for the end of a running deletion, then
 * throws `StartError`.
 */
export async function withoutTrimming(directory: string, waitMs: number): Promise<() => void> {
  const unlock = await waitForFile(trimming(directory), "shared", waitMs);
  if (unlock !== undefined) return unlock;
  throw new StartError(`${directory} is being trimmed for more than ${waitMs / 1000} s`);
}

const trimming = (directory: string) => join(directory, "trimming");
