/**
 * Pattern of the name of a regular backup. The name contains the time at which the backup began.
 */
const NAME = /^pixelmill-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)Z(?:-([0-9a-f]{12}))?\.tar\.zst$/;

/** A regular backup of a server (setting `backup.every`). */
export interface BackupFile {
  /** Path of the file, or key of the object in a bucket. */
  path: string;
  /** When the backup began, in milliseconds since the epoch. */
  at: number;
  bytes: number;
}

/**
 * Returns the name of a backup that begins at the time `at` (milliseconds since the epoch).
 * `dataId` is the id of the data directory. Only the name of a backup in a bucket contains it.
 */
export function backupName(at: number, dataId?: string): string {
  const time = new Date(at).toISOString().slice(0, 19).replaceAll(":", "-");
  return `pixelmill-${time}Z${dataId === undefined ? "" : `-${dataId}`}.tar.zst`;
}

/**
 * Parses the name of a regular backup. Returns undefined for any other name.
 * - `at`: when the backup began, in milliseconds since the epoch
 * - `dataId`: id of the data directory, which only names in a bucket contain
 */
export function parseBackupName(
  name: string,
): { at: number; dataId: string | undefined } | undefined {
  const [, day, hour, minute, second, dataId] = NAME.exec(name) ?? [];
  if (day === undefined) return undefined;
  return { at: Date.parse(`${day}T${hour}:${minute}:${second}Z`), dataId };
}

export const oldestFirst = (one: BackupFile, other: BackupFile) => one.at - other.at;
