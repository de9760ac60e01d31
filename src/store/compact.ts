import { mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { syncPath } from "../disk/sync.ts";
import { messageOf, StartError } from "../errors.ts";
import { openEnvironment } from "./environment.ts";
import { dataFileOf, directoryOf, noteWhole, takeStore } from "./place.ts";

/** Bytes of a store's file. */
export interface Compacted {
  before: number;
  after: number;
}

/**
 * Writes a store anew without the pages that are free, which LMDB uses again and never gives back.
 * The old file is replaced once the new one is on disk; a crash leaves either. Needs the space of
 * what is live for the copy. Throws `StartError` when somebody has the store open, or the disk
 * does not take the copy.
 */
export async function compactStore(path: string): Promise<Compacted> {
  const directory = directoryOf(path);
  const letGo = takeStore(path);
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
    noteWhole(path);
    syncPath(directory);
    return { before, after: statSync(dataFileOf(path)).size };
  } catch (error) {
    throw new StartError(`Cannot compact ${directory}: ${messageOf(error)}`);
  } finally {
    rmSync(copies, { recursive: true, force: true });
    letGo();
  }
}

/** A copy of what is live, on disk. */
async function copyLive(path: string, copies: string): Promise<string> {
  const copied = join(copies, "data.mdb");
  const { root } = openEnvironment(path, 1, []);
  try {
    // A store that is a file is copied to a file, one that is a directory into a directory.
    await root.backup(dataFileOf(path) === path ? copied : copies, true);
  } finally {
    await root.close();
  }
  syncPath(copied);
  return copied;
}
