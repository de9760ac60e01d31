import { FFIType } from "bun:ffi";
import { closeSync, fchownSync, fstatSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { libcFunctions } from "../libc.ts";

const operations = { shared: 1, exclusive: 2 };
const NOT_BLOCKING = 4;
const RETRY_MS = 50;

/**
 * Locks a file, and creates it if it is missing. Either any number of processes hold a shared lock
 * of a file, or one process holds an exclusive lock. Returns a function that unlocks the file, or
 * undefined if another process holds a conflicting lock. The kernel releases the lock of a process
 * that dies.
 */
export function lockFile(path: string, how: keyof typeof operations): (() => void) | undefined {
  const fd = openSync(path, "a", 0o640);
  giveToOwner(fd, dirname(path));
  if (open().flock(fd, operations[how] | NOT_BLOCKING) === 0) return () => closeSync(fd);
  closeSync(fd);
  return undefined;
}

/**
 * Makes the owner of a file's directory the owner of the file, if this process runs as root.
 * Without this change, the server, which runs as another user, could not open a lock file that a
 * command of root created.
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
