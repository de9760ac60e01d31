import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { lockFile } from "../../disk/lock.ts";
import { makeMappable } from "../../disk/mapped.ts";
import { StartError } from "../../errors.ts";
import { integrityFault } from "./lmdb-integrity.ts";

/**
 * Bytes of LMDB's lock file for 254 readers; each process that has the store open counts as one or
 * two.
 */
const LOCK_BYTES = 16_384;

/**
 * Whether a store's path is that of its file, by its extension, or of a directory with `data.mdb`.
 */
const isFile = (path: string) => extname(path) !== "";
export const directoryOf = (path: string) => (isFile(path) ? dirname(path) : path);
export const dataFileOf = (path: string) => (isFile(path) ? path : join(path, "data.mdb"));
export const lockFileOf = (path: string) =>
  isFile(path) ? `${path}-lock` : join(path, "lock.mdb");
const inUse = (path: string) => join(directoryOf(path), "in-use");

/** How long `shareStore` waits for a process that checks or compacts the store. */
const WAIT_MS_MAX = 10_000;
const RETRY_MS = 20;

/**
 * Notes that this process has a store open, beside others, until the returned function is called. A
 * file that is not known here, such as a copy, is read first to prove that it is whole, before LMDB
 * maps it: `StartError` when it is not.
 */
export function acquireShared(path: string): () => void {
  expectWhole(path);
  // LMDB maps its lock file and stores to it.
  makeMappable(lockFileOf(path), new Uint8Array(LOCK_BYTES));
  for (let waited = 0; waited <= WAIT_MS_MAX; waited += RETRY_MS) {
    const letGo = lockFile(inUse(path), "shared");
    if (letGo !== undefined) return letGo;
    Bun.sleepSync(RETRY_MS);
  }
  throw new StartError(`Expected ${directoryOf(path)} to be free, but another command has it`);
}

/**
 * Takes a store that no process has open. Returns the function that lets go of it, or undefined.
 */
export function acquireExclusive(path: string): (() => void) | undefined {
  return lockFile(inUse(path), "exclusive");
}

/** Notes that a store's file is whole: this process has opened it, or has just made it. */
export function markIntact(path: string): void {
  if (isKnown(path)) return;
  writeFileSync(inUse(path), nameOfFile(path));
}

/**
 * Skips a store that other processes have open: they know the file, and it changes while it would
 * be read.
 */
function expectWhole(path: string): void {
  if (!existsSync(dataFileOf(path)) || isKnown(path)) return;
  const letGo = acquireExclusive(path);
  if (letGo === undefined) return;
  try {
    const fault = integrityFault(dataFileOf(path));
    if (fault === undefined) return;
    throw new StartError(
      `Expected ${dataFileOf(path)} to be whole, but ${fault}; a directory that is served is copied by pixelmill backup, not file by file`,
    );
  } finally {
    letGo();
  }
}

function isKnown(path: string): boolean {
  return existsSync(inUse(path)) && readFileSync(inUse(path), "utf8") === nameOfFile(path);
}

/** Tells a file from all others, its copies too: by its number and the time when it was made. */
function nameOfFile(path: string): string {
  const { ino, birthtimeNs } = statSync(dataFileOf(path), { bigint: true });
  return `${ino} ${birthtimeNs}`;
}
