import fs from "node:fs";
import { codeOf } from "../../errors.ts";
import { PAGE_BYTES } from "./page.ts";

/** Reads `bytes` bytes at `offset` of a file. The result is shorter only at the end of the file. */
export type ReadAt = (fd: number, offset: number, bytes: number) => Promise<Buffer>;

/**
 * Error codes of a read that failed because the disk can no longer return the bytes stored there.
 */
const UNREADABLE = new Set(["EIO", "EBADMSG", "EUCLEAN"]);

export function isUnreadable(error: unknown): boolean {
  return UNREADABLE.has(codeOf(error));
}

/** Reads bytes of a file through the kernel's page cache. Rejects when the read fails. */
export const readAt: ReadAt = async (fd, offset, bytes) => {
  if (bytes <= 0) return Buffer.alloc(0);
  const window = Buffer.allocUnsafeSlow(bytes);
  return window.subarray(0, await readInto(fd, window, offset));
};

/** Fills the buffer `into` from `offset` of a file. Returns the number of bytes that were read. */
export function readInto(fd: number, into: Buffer, offset: number): Promise<number> {
  return new Promise((resolve, reject) => {
    // `fs.read` is looked up at each call, so that a test can replace it by a function that fails.
    fs.read(fd, into, 0, into.length, offset, (error, bytesRead) => {
      if (error) reject(error);
      else resolve(bytesRead);
    });
  });
}

/**
 * Reads bytes of a file through the kernel's page cache. Returns zeros for pages that the disk
 * cannot read, so that a log reader can skip these damaged pages and return the records after them.
 */
export const readPastErrors: ReadAt = async (fd, offset, bytes) => {
  try {
    return await readAt(fd, offset, bytes);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
  }
  const window = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; ) {
    const step = Math.min(bytes - at, PAGE_BYTES - ((offset + at) % PAGE_BYTES));
    try {
      window.set(await readAt(fd, offset + at, step), at);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
    }
    at += step;
  }
  return window;
};
