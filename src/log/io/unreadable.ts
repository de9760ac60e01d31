import { constants, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openFile } from "../../disk/open-file.ts";
import { codeOf } from "../../errors.ts";
import { PAGE_BYTES, pageAligned } from "./page.ts";
import { isUnreadable, readInto } from "./read-at.ts";

/** Number of failed reads of the same offset after which that offset counts as unreadable. */
const ATTEMPTS = 3;
/** Pause in milliseconds before a failed read is tried again. */
const RETRY_MS = 1_000;

/**
 * Calls `read`, and resolves with its result. If the disk fails `ATTEMPTS` times to read the bytes,
 * calls `pastErrors` instead, which must skip unreadable bytes, and resolves with its result.
 *
 * Before it calls `pastErrors`, tests whether the disk can write, and rejects if it cannot. In that
 * case the whole disk has failed and not only a sector, and skipping bytes would lose all further
 * records.
 */
export async function readOrPassOver<T>(
  directory: string,
  read: () => Promise<T>,
  pastErrors: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    try {
      return await read();
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      if (attempt < ATTEMPTS) await Bun.sleep(RETRY_MS);
    }
  }
  expectDisk(directory);
  return await pastErrors();
}

/**
 * Tests whether the directory's disk can write a page. Throws the error of the write if it cannot.
 */
function expectDisk(directory: string): void {
  const path = join(directory, "probe");
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_DSYNC;
  using file = openFile(path, flags, 0o640);
  try {
    writeSync(file.fd, Buffer.alloc(PAGE_BYTES), 0, PAGE_BYTES, 0);
  } finally {
    unlinkSync(path);
  }
}

/**
 * Tests whether the disk can read the page of a file in which `offset` lies. If it cannot, rejects
 * with the error of the read. Bypasses the page cache where the file system allows it, because the
 * cache may still have a page that the disk has lost.
 */
export async function expectReadable(path: string, offset: number): Promise<void> {
  const page = pageAligned(PAGE_BYTES);
  const from = offset - (offset % PAGE_BYTES);
  let bytes: number;
  try {
    bytes = await readPage(path, page, from, constants.O_DIRECT);
  } catch (error) {
    if (codeOf(error) !== "EINVAL") throw error;
    bytes = await readPage(path, page, from, 0);
  }
  if (bytes === 0) throw new Error(`Nothing can be read of ${path} at ${from} yet`);
}

async function readPage(path: string, into: Buffer, offset: number, flags: number) {
  using file = openFile(path, constants.O_RDONLY | flags);
  return await readInto(file.fd, into, offset);
}
