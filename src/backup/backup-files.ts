import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { StartError, systemReason } from "../errors.ts";

/** Name of a backup that the server made by itself, with the time at which it began. */
const NAME = /^pixelmill-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)Z\.tar\.zst$/;
/** Name of the directory in which a process made such a backup. */
const STAGING = /^\.pixelmill-[\dTZ-]+\.tar\.zst\.(\d+)$/;

export interface BackupFile {
  path: string;
  /** When the backup began, in milliseconds since the epoch. */
  at: number;
  bytes: number;
}

/** Returns the name of a backup that begins at this time. */
export function backupName(at: number): string {
  const time = new Date(at).toISOString().slice(0, 19).replaceAll(":", "-");
  return `pixelmill-${time}Z.tar.zst`;
}

/** Lists the backups of a directory, oldest first. Other files are left out. */
export function listBackups(directory: string): BackupFile[] {
  return readdirSync(directory)
    .flatMap((name) => {
      const [, day, hour, minute, second] = NAME.exec(name) ?? [];
      if (day === undefined) return [];
      const path = join(directory, name);
      const at = Date.parse(`${day}T${hour}:${minute}:${second}Z`);
      return [{ path, at, bytes: statSync(path).size }];
    })
    .sort((one, other) => one.at - other.at);
}

/** Deletes all but the newest backups. */
export function pruneBackups(directory: string, keep: number): void {
  for (const { path } of listBackups(directory).slice(0, -keep)) rmSync(path, { force: true });
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
