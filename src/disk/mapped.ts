import { FFIType, ptr } from "bun:ffi";
import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { openLibc } from "../libc.ts";

/** `ioctl` requests and a flag of Linux (`linux/fs.h`), the same on x86-64 and arm64. */
const FS_IOC_GETFLAGS = 0x80086601;
const FS_IOC_SETFLAGS = 0x40086602;
const FS_NOCOW_FL = 0x00800000;

/**
 * Makes a file of zeros that may be mapped and stored to, unless there is one. A store to a mapped
 * page that gets no space is a bus error, which ends the process: on a full disk, a page must
 * have its space before. So the file is written, not extended; and where a file system copies what
 * it writes (btrfs), so that even a written page needs new space, that is turned off for this file.
 */
export function makeMappable(path: string, content: Uint8Array): void {
  if (existsSync(path)) return;
  // In a container the number of a process is that of the one that crashed before it.
  const made = `${path}.${randomUUID()}`;
  try {
    writeWhole(made, content);
    // Under its name all at once: another process that made it first may be using it.
    linkSync(made, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(made, { force: true });
  }
}

/** Makes a file, with all of its content on disk when this returns. */
function writeWhole(path: string, content: Uint8Array): void {
  const fd = openSync(path, "wx", 0o640);
  try {
    writeInPlace(fd);
    writeFileSync(fd, content);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Has an empty file written in place, where the file system knows such a thing. */
function writeInPlace(fd: number): void {
  libc ??= openLibc(symbols);
  const flags = new BigUint64Array(1);
  if (libc.symbols.ioctl(fd, FS_IOC_GETFLAGS, ptr(flags)) !== 0) return;
  flags[0]! |= BigInt(FS_NOCOW_FL);
  libc.symbols.ioctl(fd, FS_IOC_SETFLAGS, ptr(flags));
}

const symbols = {
  ioctl: { args: [FFIType.i32, FFIType.u64, FFIType.ptr], returns: FFIType.i32 },
} as const;
let libc: ReturnType<typeof openLibc<typeof symbols>> | undefined;
