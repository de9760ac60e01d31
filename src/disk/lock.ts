import { FFIType } from "bun:ffi";
import { closeSync, fchownSync, fstatSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { libcFunctions } from "../libc.ts";

const operations = { shared: 1, exclusive: 2 };
const NOT_BLOCKING = 4;
const RETRY_MS = 50;

/**
 * Locks a file, and creates it when it is missing. Any number of processes may hold a shared lock,
 * or one process an exclusive lock. Returns the function that unlocks the file, or undefined when
 * another process holds a conflicting lock. The kernel releases the lock of a process that dies.
 */
export function lockFile(path: string, how: keyof typeof operations): (() => void) | undefined {
  const fd = openSync(path, "a", 0o640);
  giveToOwner(fd, dirname(path));
  if (open().flock(fd, operations[how] | NOT_BLOCKING) === 0) return () => closeSync(fd);
  closeSync(fd);
  return undefined;
}

/**
 * Gives a file to the owner of its directory if this process runs as root. Otherwise a lock file
 * that a command of root created could not be opened by the server, which runs as another user.
 */
function giveToOwner(fd: number, directory: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(directory);
  if (fstatSync(fd).uid === uid) return;
  try {
    fchownSync(fd, uid, gid);
  } catch {
    // Changing the owner fails when root lacks that right, and on a file system without owners.
  }
}

/**
 * Locks a file like `lockFile`, but waits up to `waitMs` milliseconds for other processes to unlock
 * it. Resolves with undefined when they do not unlock it in time.
 */
export async function waitForFile(path: string, how: keyof typeof operations, waitMs: number) {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const unlock = lockFile(path, how);
    if (unlock !== undefined || performance.now() >= deadline) return unlock;
    await Bun.sleep(RETRY_MS);
  }
}

const open = libcFunctions({
  flock: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 },
});
