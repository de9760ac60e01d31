import { FFIType } from "bun:ffi";
import { statSync } from "node:fs";
import { libcFunctions } from "../libc.ts";
import type { Logger } from "../observe/log.ts";
import { openFile } from "./open-file.ts";

/** Mode of `fallocate` that does not change the length of the file, from `linux/falloc.h`. */
const FALLOC_FL_KEEP_SIZE = 1;

const NOT_KEPT = "no disk space is kept in reserve: no room, or not possible here";

export interface ReserveOptions {
  /** Bytes of disk space to keep allocated after the end of the file. Defaults to 0. */
  reserveBytes?: number;
  logger: Pick<Logger, "info" | "warn">;
}

/** Bytes of one block. `stat` states the disk space of a file as a number of such blocks. */
const STAT_BLOCK_BYTES = 512;

/**
 * Returns a function that keeps `reserveBytes` allocated after the end of a file, so that the file
 * can grow on a full disk. The function must be called whenever the file may have grown. It never
 * throws.
 */
export function diskReserve(
  path: string,
  { reserveBytes: bytes = 0, logger }: ReserveOptions,
): () => void {
  let enoughTo = 0;
  let wasKept = true;
  return () => {
    if (bytes === 0) return;
    let isKept = false;
    try {
      const { size } = statSync(path);
      isKept = size < enoughTo || allocate(path, size, bytes);
      if (isKept && size >= enoughTo) enoughTo = size + bytes / 2;
    } catch {
      // The space cannot be allocated. Changes of the file are stored without a reserve, too.
    }
    if (isKept && !wasKept) logger.info({ path, bytes }, "disk space is kept in reserve again");
    if (!isKept && wasKept) logger.warn({ path, bytes }, NOT_KEPT);
    wasKept = isKept;
  };
}

/**
 * Returns the number of bytes of disk space that are allocated after the end of a file; 0 if the
 * file does not exist.
 */
export function reservedBytes(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? Math.max(0, found.blocks * STAT_BLOCK_BYTES - found.size) : 0;
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
