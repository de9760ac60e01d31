import { FFIType } from "bun:ffi";
import { statSync } from "node:fs";
import { libcFunctions } from "../libc.ts";
import { openFile } from "./open-file.ts";

/** Mode of `fallocate` that keeps the length of the file, from `linux/falloc.h`. */
const FALLOC_FL_KEEP_SIZE = 1;

/**
 * Returns a function that keeps disk space after the end of a file, so that the file can grow on a
 * full disk, and keeps the file's length. It is called again when the file may have grown: it
 * allocates `bytes` once half of them are used. Never throws: without room on the disk, or without
 * the file, it does nothing.
 */
export function diskReserve(path: string, bytes: number): () => void {
  let enoughTo = 0;
  return () => {
    if (bytes === 0) return;
    try {
      const { size } = statSync(path);
      if (size >= enoughTo && allocate(path, size, bytes)) enoughTo = size + bytes / 2;
    } catch {
      // A change is also stored without a reserve.
    }
  };
}

function allocate(path: string, from: number, bytes: number): boolean {
  using file = openFile(path, "r+");
  return libc().fallocate(file.fd, FALLOC_FL_KEEP_SIZE, from, bytes) === 0;
}

const libc = libcFunctions({
  fallocate: {
    args: [FFIType.i32, FFIType.i32, FFIType.i64, FFIType.i64],
    returns: FFIType.i32,
  },
});
