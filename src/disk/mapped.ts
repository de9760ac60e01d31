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
import { codeOf } from "../errors.ts";
import { openLibc } from "../libc.ts";

/** `ioctl` requests and a flag of Linux (`linux/fs.h`), the same on x86-64 and arm64. */
const FS_IOC_GETFLAGS = 0x80086601;
const FS_IOC_SETFLAGS = 0x40086602;
const FS_NOCOW_FL = 0x00800000;

/**
 * Creates a file that may be mapped and stored to, unless it exists. A store to a
 * mapped page for which the disk has no space is a bus error, which ends the process; so every page
 * must have its space before. Therefore the zeros are written instead of extending the file; and on
 * a file system that copies what it writes (btrfs), where even a written page needs new space,
 * copying is turned off for this file.
 */
export function makeMappable(path: string, content: Uint8Array): void {
  if (existsSync(path)) return;
  // A random name: in a container, a process has the same number as the one that crashed before it.
  const made = `${path}.${randomUUID()}`;
  try {
    writeWhole(made, content);
    // The finished file gets its name in one step: a process that made the file first may be using
    // it.
    linkSync(made, path);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    rmSync(made, { force: true });
  }
}

/** Creates a file whose content is on disk when it returns. */
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

/** Turns off copy-on-write for an empty file, on file systems that have it. */
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
