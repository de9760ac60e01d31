import { closeSync, constants, openSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { PAGE_BYTES } from "./page.ts";
import { isUnreadable } from "./read-at.ts";

/** Reads of a place that fail before it is passed over, and the time between them. */
const ATTEMPTS = 3;
const RETRY_MS = 1_000;

/**
 * What `read` gives, or `pastErrors` when the disk cannot give back a place although it is tried
 * again and the disk is otherwise well. A disk that is gone for a while must not look like one with
 * a bad sector: everything that is owed would be passed over. Throws when it does not take a page.
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

/** Throws unless the disk takes a page. */
function expectDisk(directory: string): void {
  const path = join(directory, "probe");
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_DSYNC;
  const fd = openSync(path, flags, 0o640);
  try {
    writeSync(fd, Buffer.alloc(PAGE_BYTES), 0, PAGE_BYTES, 0);
  } finally {
    closeSync(fd);
    unlinkSync(path);
  }
}
