/** Pattern for the name of a backup that a server has made, with the time at which it began. */
const NAME = /^pixelmill-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)Z(?:-([0-9a-f]{12}))?\.tar\.zst$/;

/** A backup that a server has made by itself. */
export interface BackupFile {
  /** Path of the file, or key of the object. */
  path: string;
  /** When the backup began, in milliseconds since the epoch. */
  at: number;
  bytes: number;
}

/** Returns the name of a backup that begins at the time `at`. */
export function backupName(at: number, dataId?: string): string {
  const time = new Date(at).toISOString().slice(0, 19).replaceAll(":", "-");
  return `pixelmill-${time}Z${dataId === undefined ? "" : `-${dataId}`}.tar.zst`;
}

/**
 * Returns the time in the name of a backup, and the id of the data directory, which names in a
 * bucket contain. Undefined for a name that is not from a server.
 */
export function parseBackupName(
  name: string,
): { at: number; dataId: string | undefined } | undefined {
  const [, day, hour, minute, second, dataId] = NAME.exec(name) ?? [];
  if (day === undefined) return undefined;
  return { at: Date.parse(`${day}T${hour}:${minute}:${second}Z`), dataId };
}

export const oldestFirst = (one: BackupFile, other: BackupFile) => one.at - other.at;
