import { FFIType } from "bun:ffi";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { StartError } from "../errors.ts";
import { openLibc } from "../libc.ts";
import { LOG_LOCK_MS_MAX } from "../limits.ts";

const LOCK_SHARED = 1;
const LOCK_EXCLUSIVE = 2;
const LOCK_NOT_BLOCKING = 4;
const RETRY_MS = 50;

/**
 * Takes a log directory for this process, and returns how to let go of it. The kernel lets go
 * when the process dies, so an old process that still runs is all that a caller waits for.
 * Throws `StartError` when the directory stays taken.
 */
export async function lockDirectory(
  directory: string,
  waitMs: number = LOG_LOCK_MS_MAX,
): Promise<() => void> {
  const unlock = await waitForLock(join(directory, "lock"), LOCK_EXCLUSIVE, waitMs);
  if (unlock !== undefined) return unlock;
  throw new StartError(
    `Expected to be the only process that writes ${directory}, ` +
      `but another one held its lock for ${waitMs / 1000} s`,
  );
}

/** Leave to trim a log directory, until the returned function; undefined while it is copied. */
export const tryTrimming = (directory: string) => tryLock(trimming(directory), LOCK_EXCLUSIVE);

/** Keeps all segments of a log directory as they are, until the returned function. */
export async function withoutTrimming(directory: string, waitMs: number): Promise<() => void> {
  const unlock = await waitForLock(trimming(directory), LOCK_SHARED, waitMs);
  if (unlock !== undefined) return unlock;
  throw new StartError(`${directory} is being trimmed for more than ${waitMs / 1000} s`);
}

const trimming = (directory: string) => join(directory, "trimming");

async function waitForLock(path: string, mode: number, waitMs: number) {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const unlock = tryLock(path, mode);
    if (unlock !== undefined || performance.now() >= deadline) return unlock;
    await Bun.sleep(RETRY_MS);
  }
}

function tryLock(path: string, mode: number): (() => void) | undefined {
  libc ??= openLibc(functions);
  const fd = openSync(path, "a");
  if (libc.symbols.flock(fd, mode | LOCK_NOT_BLOCKING) === 0) return () => closeSync(fd);
  closeSync(fd);
  return undefined;
}

const functions = {
  flock: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 },
} as const;
let libc: ReturnType<typeof openLibc<typeof functions>> | undefined;
