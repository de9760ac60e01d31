import { dlopen, FFIType } from "bun:ffi";
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from "node:fs";

const O_DSYNC = 0o10000;

/**
 * Lets the next write of a meta page fail, in this process: LMDB writes these pages through a
 * descriptor of their own, which is made one of `/dev/full`. Reopening the file ends it.
 */
export function failMetaWrites(file: string): void {
  const { symbols } = dlopen("libc.so.6", {
    dup2: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 },
  });
  const metas = readdirSync("/proc/self/fd").filter((fd) => isMetaOf(fd, file));
  if (metas.length !== 1) throw new Error(`Expected one meta descriptor, got ${metas.length}`);
  const full = openSync("/dev/full", "w");
  symbols.dup2(full, Number(metas[0]));
  closeSync(full);
}

function isMetaOf(fd: string, file: string): boolean {
  try {
    if (readlinkSync(`/proc/self/fd/${fd}`) !== file) return false;
    const [, flags = "0"] = /flags:\s*(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))!;
    return (Number.parseInt(flags, 8) & O_DSYNC) !== 0;
  } catch {
    return false;
  }
}
