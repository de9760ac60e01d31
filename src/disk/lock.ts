import { FFIType } from "bun:ffi";
import { closeSync, fchownSync, fstatSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { openLibc } from "../libc.ts";

const operations = { shared: 1, exclusive: 2 };
const NOT_BLOCKING = 4;
const RETRY_MS = 50;

/**
 * Locks a file, which is created when it is missing, in exclusive or shared mode. Returns the
 * function that unlocks it, or undefined when other processes hold the lock. The kernel unlocks when
 * the process dies.
 */
export function lockFile(path: string, how: keyof typeof operations): (() => void) | undefined {
  libc ??= openLibc(functions);
  const fd = openSync(path, "a", 0o640);
  giveToOwner(fd, dirname(path));
  if (libc.symbols.flock(fd, operations[how] | NOT_BLOCKING) === 0) return () => closeSync(fd);
  closeSync(fd);
  return undefined;
}

/**
 * Gives a file that a command of root created in another user's directory to that user, whose server
 * must be able to open it.
 */
function giveToOwner(fd: number, directory: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(directory);
  if (fstatSync(fd).uid === uid) return;
  try {
    fchownSync(fd, uid, gid);
  } catch {
    // The change of owner fails for a root without that right, and on a file system without owners.
  }
}

/** Locks a file as `lockFile` does, and waits up to `waitMs` for other processes to unlock it. */
export async function waitForFile(path: string, how: keyof typeof operations, waitMs: number) {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const unlock = lockFile(path, how);
    if (unlock !== undefined || performance.now() >= deadline) return unlock;
    await Bun.sleep(RETRY_MS);
  }
}

const functions = {
  flock: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 },
} as const;
let libc: ReturnType<typeof openLibc<typeof functions>> | undefined;
