import { FFIType, ptr } from "bun:ffi";
import { randomUUID } from "node:crypto";
import { existsSync, fsyncSync, linkSync, rmSync, writeFileSync } from "node:fs";
import { codeOf } from "../errors.ts";
import { libcFunctions } from "../libc.ts";
import { openFile } from "./open-file.ts";

/**
 * Request code of `ioctl` that reads the flags of a file. All three constants `FS_…` are from
 * `linux/fs.h` and have the same values on x86-64 and arm64.
 */
const FS_IOC_GETFLAGS = 0x80086601;
const FS_IOC_SETFLAGS = 0x40086602;
const FS_NOCOW_FL = 0x00800000;

/**
 * Creates a file that processes can map into memory and write; does nothing if the file exists. All
 * space is allocated, without copy-on-write, because a write to a mapped page without disk space
 * kills the process.
 */
export function makeMappable(path: string, content: Uint8Array): void {
  if (existsSync(path)) return;
  // The temporary file has a random name. A process id is not enough: in a container, a process may
  // have the same id as the one that crashed before it.
  const made = `${path}.${randomUUID()}`;
  try {
    writeWhole(made, content);
    // The finished file gets its name in one step, and only if no file has that name: another
    // process may already use such a file.
    linkSync(made, path);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    rmSync(made, { force: true });
  }
}

/** Creates a file with the given content, which is durable when the function returns. */
function writeWhole(path: string, content: Uint8Array): void {
  using file = openFile(path, "wx", 0o640);
  writeInPlace(file.fd);
  writeFileSync(file.fd, content);
  fsyncSync(file.fd);
}

/**
 * Turns off copy-on-write for an empty file, so that its pages are overwritten in place. Does
 * nothing on file systems without copy-on-write.
 */
function writeInPlace(fd: number): void {
  const flags = new BigUint64Array(1);
  if (open().ioctl(fd, FS_IOC_GETFLAGS, ptr(flags)) !== 0) return;
  flags[0]! |= BigInt(FS_NOCOW_FL);
  open().ioctl(fd, FS_IOC_SETFLAGS, ptr(flags));
}

const open = libcFunctions({
  ioctl: { args: [FFIType.i32, FFIType.u64, FFIType.ptr], returns: FFIType.i32 },
});
