import { mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { syncPath } from "../../disk/sync.ts";
import { messageOf, StartError } from "../../errors.ts";
import { openEnvironment } from "./environment.ts";
import {
  acquireExclusive,
  dataFileOf,
  directoryOf,
  expectIntact,
  markIntact,
} from "./store-files.ts";

/**
 * Shrinks a store's file. LMDB reuses free pages but never releases them, so the store is copied
 * without its free pages, and the copy replaces the file. After a crash the file is either the old
 * or the new one. Resolves with the file's sizes in bytes before and after. Throws `StartError`
 * when a process has the store open, its file is torn (see `expectIntact`) or the copy fails.
 */
export async function compactStore(path: string) {
  const directory = directoryOf(path);
  expectIntact(path);
  const release = acquireExclusive(path);
  if (release === undefined) {
    throw new StartError(
      `Expected ${directory} to be free, but a server or another command has it open`,
    );
  }
  const copies = join(directory, "compacted");
  try {
    rmSync(copies, { recursive: true, force: true });
    mkdirSync(copies, { mode: 0o700 });
    const before = statSync(dataFileOf(path)).size;
    const copied = await copyLive(path, copies);
    renameSync(copied, dataFileOf(path));
    markIntact(path);
    syncPath(directory);
    return { before, after: statSync(dataFileOf(path)).size };
  } catch (error) {
    throw new StartError(`Cannot compact ${directory}: ${messageOf(error)}`);
  } finally {
    rmSync(copies, { recursive: true, force: true });
    release();
  }
}

/**
 * Copies the used pages of an LMDB file to a new file in the directory `copies`. Returns the path
 * of the new file once it is on disk.
 */
async function copyLive(path: string, copies: string): Promise<string> {
  const copied = join(copies, "data.mdb");
  const { root } = openEnvironment(path, []);
  try {
    // LMDB copies a store that is a file to a file, and one that is a directory into a directory.
    await root.backup(dataFileOf(path) === path ? copied : copies, true);
  } finally {
    await root.close();
  }
  syncPath(copied);
  return copied;
}
