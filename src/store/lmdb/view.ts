import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { makeDirectory } from "../../disk/sync.ts";
import { messageOf } from "../../errors.ts";
import type { LocalStore } from "../store.ts";
import { openStore, type StoreOptions } from "./lmdb-store.ts";
import { acquireExclusive, dataFileOf, directoryOf, lockFileOf } from "./store-files.ts";

/** File that contains the kernel's boot id, which changes at each boot of the machine. */
const BOOT = "/proc/sys/kernel/random/boot_id";
const bootFileOf = (path: string) => `${dataFileOf(path)}-boot`;

/**
 * Opens the store of a view, this node's local copy of an ordered log. Deletes a file that cannot
 * be opened, or that is from before the machine's last boot, because commits do not wait for the
 * disk. The view then reads the whole log again.
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

/** Deletes the files of a view. Does nothing while another process has the store open. */
function discard(path: string): void {
  const release = acquireExclusive(path);
  if (release === undefined) return;
  try {
    for (const file of [dataFileOf(path), lockFileOf(path)]) rmSync(file, { force: true });
  } finally {
    release();
  }
}
