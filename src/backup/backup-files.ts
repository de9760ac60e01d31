import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { StartError, systemReason } from "../errors.ts";
import { type BackupFile, oldestFirst, parseBackupName } from "./backup-name.ts";

/** Name of the directory in which a process made such a backup. */
const STAGING = /^\.pixelmill-[\dTZ-]+\.tar\.zst\.(\d+)$/;

/** Lists the backups of a directory, oldest first. Other files are left out. */
export function listBackups(directory: string): BackupFile[] {
  return readdirSync(directory)
    .flatMap((name) => {
      const parsed = parseBackupName(name);
      // A name with the id of a data directory comes from a bucket, and somebody put it here.
      if (parsed === undefined || parsed.dataId !== undefined) return [];
      const path = join(directory, name);
      return [{ path, at: parsed.at, bytes: statSync(path).size }];
    })
    .sort(oldestFirst);
}

/** Deletes what backups left behind whose processes ended before their time. */
export function removeLeftovers(directory: string): void {
  for (const name of readdirSync(directory)) {
    const pid = STAGING.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) {
      rmSync(join(directory, name), { recursive: true, force: true });
    }
  }
}

/** Makes the directory of the backups. Throws a `StartError` when it cannot be written. */
export function prepareBackupDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    removeLeftovers(directory);
  } catch (error) {
    throw new StartError(`Cannot use backup.directory ${directory}: ${systemReason(error)}`);
  }
}
