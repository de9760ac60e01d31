import { FFIType } from "bun:ffi";
import { closeSync, fchownSync, fstatSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { openLibc } from "../libc.ts";

const operations = { shared: 1, exclusive: 2 };
const NOT_BLOCKING = 4;
const RETRY_MS = 50;

/**
 * Locks a file, which is made when it is missing: alone, or together with all who share the lock.
 * Returns the function that lets go of the lock, or undefined when others hold it. The kernel lets
 * go when the process dies.
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
 * A file that root's command makes in another user's directory is given to that user, whose server
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

/** As `lockFile`, but waits up to `waitMs` for others to let go. */
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
