import { dirname, extname, join } from "node:path";
import { lockFile } from "../disk/lock.ts";
import { makeMappable } from "../disk/mapped.ts";
import { StartError } from "../errors.ts";

/** Of LMDB's lock file: 254 readers, each process that has the store open being one or two. */
const LOCK_BYTES = 16_384;

/** A store is a file of its own name, when that has an extension, or a directory with `data.mdb`. */
const isFile = (path: string) => extname(path) !== "";
export const directoryOf = (path: string) => (isFile(path) ? dirname(path) : path);
export const dataFileOf = (path: string) => (isFile(path) ? path : join(path, "data.mdb"));
const lockFileOf = (path: string) => (isFile(path) ? `${path}-lock` : join(path, "lock.mdb"));
const inUse = (path: string) => join(directoryOf(path), "in-use");

/**
 * Notes that this process has a store open, beside others, until the returned function is called.
 * LMDB maps its lock file and stores to it.
 */
export function shareStore(path: string): () => void {
  makeMappable(lockFileOf(path), new Uint8Array(LOCK_BYTES));
  const letGo = lockFile(inUse(path), "shared");
  if (letGo !== undefined) return letGo;
  throw new StartError(`Expected ${directoryOf(path)} to be free, but it is being compacted`);
}

/** Takes a store that nobody has open. Returns how to let go of it, or undefined. */
export function takeStore(path: string): (() => void) | undefined {
  return lockFile(inUse(path), "exclusive");
}
