import fs from "node:fs";
import { promisify } from "node:util";
import { codeOf } from "../../errors.ts";
import { PAGE_BYTES } from "./page.ts";

/** Reads a part of a file; the result is shorter only at the file's end. */
export type ReadAt = (fd: number, offset: number, bytes: number) => Promise<Buffer>;

/** Errors of a disk that cannot read the bytes it wrote, or reads others. */
const UNREADABLE = new Set(["EIO", "EBADMSG", "EUCLEAN"]);

export function isUnreadable(error: unknown): boolean {
  return UNREADABLE.has(codeOf(error));
}

/** Reads through the page cache; throws the error of the disk. */
export const readAt: ReadAt = async (fd, offset, bytes) => {
  if (bytes <= 0) return Buffer.alloc(0);
  const window = Buffer.allocUnsafeSlow(bytes);
  return window.subarray(0, await readInto(fd, window, offset));
};

/** Fills a buffer from an offset of a file; returns how many bytes were read. */
export async function readInto(fd: number, into: Buffer, offset: number): Promise<number> {
  // `fs.read` is looked up for each call, so that a test can let the disk fail.
  const { bytesRead } = await promisify(fs.read)(fd, into, 0, into.length, offset);
  return bytesRead;
}

/** Reads as `readAt` does, with zeros for the pages that the disk cannot read. */
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
