import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { makeDirectory } from "../../disk/sync.ts";
import { messageOf } from "../../errors.ts";
import type { LocalStore } from "../store.ts";
import { openStore, type StoreOptions } from "./lmdb-store.ts";
import { acquireExclusive, dataFileOf, directoryOf, lockFileOf } from "./store-files.ts";

/** File with the id that the kernel chooses at each boot. */
const BOOT = "/proc/sys/kernel/random/boot_id";
const bootFileOf = (path: string) => `${dataFileOf(path)}-boot`;

/**
 * Opens the store of a node's view of an ordered log. Commits do not wait for the disk, so the file
 * survives a crash of the process but may be torn after a crash of the machine. A file of an
 * earlier boot, or one that cannot be opened, is deleted; the view then reads the whole log.
 */
export function openView(options: StoreOptions): LocalStore {
  const { path, name, logger } = options;
  makeDirectory(directoryOf(path), 0o700);
  const boot = readFileSync(BOOT, "utf8").trim();
  if (existsSync(dataFileOf(path)) && bootOf(path) !== boot) {
    logger.info(`${name} is read again after a reboot`);
    discard(path);
  }
  writeFileSync(bootFileOf(path), boot);
  try {
    return openStore({ ...options, isView: true });
  } catch (error) {
    logger.warn({ reason: messageOf(error) }, `${name} cannot be opened and is read again`);
    discard(path);
    return openStore({ ...options, isView: true });
  }
}

function bootOf(path: string): string | undefined {
  const file = bootFileOf(path);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** Deletes a view's files, unless another process has the view open. */
function discard(path: string): void {
  const release = acquireExclusive(path);
  if (release === undefined) return;
  try {
    for (const file of [dataFileOf(path), lockFileOf(path)]) rmSync(file, { force: true });
  } finally {
    release();
  }
}
