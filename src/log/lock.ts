import { dlopen, FFIType } from "bun:ffi";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { StartError } from "../errors.ts";
import { LOG_LOCK_MS_MAX } from "../limits.ts";

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
  const fd = openSync(join(directory, "lock"), "a");
  const deadline = performance.now() + waitMs;
  while (!tryLock(fd)) {
    if (performance.now() >= deadline) {
      closeSync(fd);
      throw new StartError(
        `Expected to be the only process that writes ${directory}, ` +
          `but another one held its lock for ${waitMs / 1000} s`,
      );
    }
    await Bun.sleep(RETRY_MS);
  }
  return () => closeSync(fd);
}

function tryLock(fd: number): boolean {
  libc ??= openLibc();
  return libc.symbols.flock(fd, LOCK_EXCLUSIVE | LOCK_NOT_BLOCKING) === 0;
}

let libc: ReturnType<typeof openLibc> | undefined;

/** glibc's name first, then musl's. */
function openLibc() {
  const symbols = { flock: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 } } as const;
  const musl = `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
  try {
    return dlopen("libc.so.6", symbols);
  } catch {
    return dlopen(musl, symbols);
  }
}
