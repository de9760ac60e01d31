import { FFIType } from "bun:ffi";
import { closeSync, fchownSync, fstatSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { libcFunctions } from "../libc.ts";

const operations = { shared: 1, exclusive: 2 };
const NOT_BLOCKING = 4;
const RETRY_MS = 50;

/**
 * Locks a file (shared or exclusive), and creates it if missing. Returns a function that unlocks
 * the file, or undefined if a conflicting lock is held. The kernel releases locks of dead
 * processes.
 */
export function lockFile(path: string, how: keyof typeof operations): (() => void) | undefined {
  const fd = openSync(path, "a", 0o640);
  giveToOwner(fd, dirname(path));
  if (open().flock(fd, operations[how] | NOT_BLOCKING) === 0) return () => closeSync(fd);
  closeSync(fd);
  return undefined;
}

/**
 * Gives a file the owner of its directory, if this process runs as root, because the server, which
 * runs as another user, must be able to open lock files that a command of root created.
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
