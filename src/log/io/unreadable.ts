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
 * Resolves with the result of `read`. If the disk fails `ATTEMPTS` times to read the bytes,
 * resolves with the result of `pastErrors`, which must skip unreadable bytes. Rejects instead if
 * the disk cannot write either, because skipping would lose all further records of a failed disk.
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
 * Tests whether the disk can read the page of a file in which `offset` lies. Rejects if it cannot,
 * or if the file ends before the page. Bypasses the page cache where possible, because the cache
 * may have a page that the disk has lost.
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
