import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { StartError, systemReason } from "../errors.ts";
import { type BackupFile, oldestFirst, parseBackupName } from "./backup-name.ts";

/** Pattern for the directory of a backup file in progress. Group: process id. */
const STAGING = /^\.pixelmill-[\dTZ-]+\.tar\.zst\.(\d+)$/;

/** Lists the backups in a directory, oldest first. Ignores other files. */
export function listBackups(directory: string): BackupFile[] {
  return readdirSync(directory)
    .flatMap((name) => {
      const parsed = parseBackupName(name);
      // A name with a data directory's id comes from a bucket, so a person has put the file here.
      if (parsed === undefined || parsed.dataId !== undefined) return [];
      const path = join(directory, name);
      return [{ path, at: parsed.at, bytes: statSync(path).size }];
    })
    .sort(oldestFirst);
}

/** Deletes the temporary directories of backups whose processes have ended. */
export function removeLeftovers(directory: string): void {
  for (const name of readdirSync(directory)) {
    const pid = STAGING.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) {
      rmSync(join(directory, name), { recursive: true, force: true });
    }
  }
}

/** Creates the backups' directory, deletes leftovers. Throws `StartError` if it is unusable. */
export function prepareBackupDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    removeLeftovers(directory);
  } catch (error) {
    throw new StartError(`Cannot use backup.directory ${directory}: ${systemReason(error)}`);
  }
}
