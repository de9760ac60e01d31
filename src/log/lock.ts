import { join } from "node:path";
import { lockFile, waitForFile } from "../disk/lock.ts";
import { StartError } from "../errors.ts";
import { LOG_LOCK_MS_MAX } from "../settings/limits.ts";

/**
 * Locks a log directory for this process, and returns the function that unlocks it. The kernel
 * unlocks when a process dies, so a caller waits only for an old process that still runs. Throws
 * `StartError` when the directory stays locked.
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
 * Locks a log directory for trimming, and returns the function that unlocks it; undefined while the
 * directory is copied.
 */
export const tryTrimming = (directory: string) => lockFile(trimming(directory), "exclusive");

/** Keeps all segments of a log directory as they are until the returned function is called. */
export async function withoutTrimming(directory: string, waitMs: number): Promise<() => void> {
  const unlock = await waitForFile(trimming(directory), "shared", waitMs);
  if (unlock !== undefined) return unlock;
  throw new StartError(`${directory} is being trimmed for more than ${waitMs / 1000} s`);
}

const trimming = (directory: string) => join(directory, "trimming");
