import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { lockFile } from "../../disk/lock.ts";
import { makeMappable } from "../../disk/mapped.ts";
import { StartError } from "../../errors.ts";
import { integrityFault } from "./lmdb-integrity.ts";

/**
 * Size of LMDB's lock file for 254 readers. Each process that has the store open counts as one or
 * two.
 */
const LOCK_BYTES = 16_384;

/**
 * Whether a store's path names its file, by its extension; otherwise it names a directory with
 * `data.mdb`.
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
 * Locks a store for use by this process and others; returns the function that releases it. An
 * unknown file, such as a copy, is checked before LMDB maps it: throws `StartError` for a torn one.
 */
export function acquireShared(path: string): () => void {
  expectIntact(path);
  // LMDB maps its lock file and stores to it.
  makeMappable(lockFileOf(path), new Uint8Array(LOCK_BYTES));
  for (let waited = 0; waited <= WAIT_MS_MAX; waited += RETRY_MS) {
    const release = lockFile(inUse(path), "shared");
    if (release !== undefined) return release;
    Bun.sleepSync(RETRY_MS);
  }
  throw new StartError(`Expected ${directoryOf(path)} to be free, but another command has it`);
}

/**
 * Locks a store that no process has open. Returns the function that releases it, or undefined.
 */
export function acquireExclusive(path: string): (() => void) | undefined {
  return lockFile(inUse(path), "exclusive");
}

/** Records that a store's file is intact: this process has opened or created it. */
export function markIntact(path: string): void {
  if (isKnown(path)) return;
  writeFileSync(inUse(path), fileIdentity(path));
}

/**
 * Throws `StartError` for a torn file. Skips a store that other processes have open: they have
 * checked the file, and it changes while it would be read.
 */
function expectIntact(path: string): void {
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

function isKnown(path: string): boolean {
  return existsSync(inUse(path)) && readFileSync(inUse(path), "utf8") === fileIdentity(path);
}

/** Identifies a file by its inode and its time of creation; a copy differs. */
function fileIdentity(path: string): string {
  const { ino, birthtimeNs } = statSync(dataFileOf(path), { bigint: true });
  return `${ino} ${birthtimeNs}`;
}
