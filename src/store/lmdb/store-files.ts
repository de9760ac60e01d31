import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { lockFile } from "../../disk/lock.ts";
import { makeMappable } from "../../disk/mapped.ts";
import { StartError } from "../../errors.ts";
import { integrityFault } from "./lmdb-integrity.ts";

/**
 * Size in bytes of LMDB's lock file. A file of this size has room for 254 readers. Each process
 * that has the store open counts as one or two readers.
 */
const LOCK_BYTES = 16_384;

/**
 * Whether the path of a store has an extension. Such a path names the store's file. A path without
 * an extension names the directory with that file.
 */
const isFile = (path: string) => extname(path) !== "";
export const directoryOf = (path: string) => (isFile(path) ? dirname(path) : path);
export const dataFileOf = (path: string) => (isFile(path) ? path : join(path, "data.mdb"));
export const lockFileOf = (path: string) =>
  isFile(path) ? `${path}-lock` : join(path, "lock.mdb");
const inUse = (path: string) => join(directoryOf(path), "in-use");

/**
 * Longest time in milliseconds that `acquireShared` waits while another process has the store
 * locked exclusively.
 */
const WAIT_MS_MAX = 10_000;
/** Pause in milliseconds between two attempts to lock a store. */
const RETRY_MS = 20;

/**
 * Locks a store for shared use, and returns the function that releases the lock. Throws
 * `StartError` if the store's file is torn (has pages from different points in time), or if another
 * process keeps an exclusive lock longer than `WAIT_MS_MAX`.
 */
export function acquireShared(path: string): () => void {
  // LMDB maps its lock file and stores to it.
  makeMappable(lockFileOf(path), new Uint8Array(LOCK_BYTES));
  for (let waited = 0; waited <= WAIT_MS_MAX; waited += RETRY_MS) {
    // Checked again after a wait: the process that had the lock may have found the file torn.
    expectIntact(path);
    const release = lockFile(inUse(path), "shared");
    if (release !== undefined) return release;
    Bun.sleepSync(RETRY_MS);
  }
  throw new StartError(`Expected ${directoryOf(path)} to be free, but another command has it`);
}

/**
 * Locks a store exclusively. Returns the function that releases the lock, or undefined while
 * another process uses the store.
 */
export function acquireExclusive(path: string): (() => void) | undefined {
  return lockFile(inUse(path), "exclusive");
}

/**
 * Marks a store's file as intact by recording its identity and size, so that the file is not
 * checked when the store is opened again. A copy of the file is checked, because it has another
 * identity.
 */
export function markIntact(path: string): void {
  const { identity, bytes } = fileFacts(path);
  const mark = `${identity}, ${bytes}`;
  if (markOf(path) !== mark) writeFileSync(inUse(path), mark);
}

/**
 * Checks a store's file unless it is marked as intact. Skips a store that other processes have
 * open: they have checked the file, and their writes would disturb the check. Throws `StartError`
 * if the file is torn (has pages from different points in time).
 */
export function expectIntact(path: string): void {
  if (!existsSync(dataFileOf(path)) || isKnown(path)) return;
  const release = acquireExclusive(path);
  if (release === undefined) return;
  try {
    const fault = integrityFault(dataFileOf(path));
    if (fault === undefined) return;
    throw new StartError(
      `Expected ${dataFileOf(path)} to be whole, but ${fault}; a directory that is served is copied by pixelmill backup, not file by file`,
    );
  } finally {
    release();
  }
}

/**
 * Whether the file is marked as intact and is not smaller than when it was marked. LMDB never
 * shortens a file, so a smaller one was truncated. Reading its missing part, which is mapped into
 * memory, would end the process.
 */
function isKnown(path: string): boolean {
  const { identity, bytes } = fileFacts(path);
  const [known, bytesThen = "0"] = markOf(path).split(", ");
  return known === identity && bytes >= BigInt(bytesThen);
}

function markOf(path: string): string {
  return existsSync(inUse(path)) ? readFileSync(inUse(path), "utf8") : "";
}

/** Identifies a file by its inode and time of creation. A copy has another identity. */
function fileFacts(path: string): { identity: string; bytes: bigint } {
  const { ino, birthtimeNs, size } = statSync(dataFileOf(path), { bigint: true });
  return { identity: `${ino} ${birthtimeNs}`, bytes: size };
}
