import { mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { syncPath } from "../../disk/sync.ts";
import { messageOf, StartError } from "../../errors.ts";
import { openEnvironment } from "./environment.ts";
import { acquireExclusive, dataFileOf, directoryOf, markIntact } from "./store-files.ts";

/** Bytes of a store's file. */
export interface CompactedSizes {
  before: number;
  after: number;
}

/**
 * Writes a store anew without its free pages, which LMDB uses again but never gives back. The old
 * file is replaced once the new one is on disk; a crash leaves either. The copy needs the space of
 * what is live. Throws `StartError` when a process has the store open, or the disk does not take
 * the copy.
 */
export async function compactStore(path: string): Promise<CompactedSizes> {
  const directory = directoryOf(path);
  const letGo = acquireExclusive(path);
  if (letGo === undefined) {
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
    letGo();
  }
}

/** Copies what is live, and returns the copy's path; the copy is on disk. */
async function copyLive(path: string, copies: string): Promise<string> {
  const copied = join(copies, "data.mdb");
  const { root } = openEnvironment(path, 1, []);
  try {
    // LMDB copies a store that is a file to a file, and one that is a directory into a directory.
    await root.backup(dataFileOf(path) === path ? copied : copies, true);
  } finally {
    await root.close();
  }
  syncPath(copied);
  return copied;
}
