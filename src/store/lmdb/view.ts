import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { makeDirectory } from "../../disk/sync.ts";
import { messageOf } from "../../errors.ts";
import type { LocalStore } from "../store.ts";
import { openStore, type StoreOptions } from "./lmdb-store.ts";
import { acquireExclusive, dataFileOf, directoryOf, lockFileOf } from "./store-files.ts";

/** The kernel's name of the time since the machine was started. */
const BOOT = "/proc/sys/kernel/random/boot_id";
const bootFileOf = (path: string) => `${dataFileOf(path)}-boot`;

/**
 * Opens a node's view of what is kept elsewhere, in an ordered log. Nothing waits for the disk: what
 * a process wrote stays when the process ends, and what a machine that went down leaves may be
 * torn, and is thrown away. So is a view that cannot be opened.
 */
export function openView(options: StoreOptions): LocalStore {
  const { path, name, logger } = options;
  makeDirectory(directoryOf(path), 0o700);
  const boot = readFileSync(BOOT, "utf8").trim();
  if (existsSync(dataFileOf(path)) && bootOf(path) !== boot) {
    logger.info(`${name} is read again, since the machine was started`);
    throwAway(path);
  }
  writeFileSync(bootFileOf(path), boot);
  try {
    return openStore({ ...options, isView: true });
  } catch (error) {
    logger.warn({ reason: messageOf(error) }, `${name} cannot be opened, and is read again`);
    throwAway(path);
    return openStore({ ...options, isView: true });
  }
}

function bootOf(path: string): string | undefined {
  const file = bootFileOf(path);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** Leaves a view that another process has open: that one has found it good since the start. */
function throwAway(path: string): void {
  const letGo = acquireExclusive(path);
  if (letGo === undefined) return;
  try {
    for (const file of [dataFileOf(path), lockFileOf(path)]) rmSync(file, { force: true });
  } finally {
    letGo();
  }
}
