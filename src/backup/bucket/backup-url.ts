import { StartError } from "../../errors.ts";

/** A backup in a bucket, from a URL such as `s3://BUCKET/KEY`. */
export interface BackupUrl {
  bucket: string;
  /**
   * Key of the backup. If the key is empty or ends with a slash, the newest backup with this prefix
   * is meant.
   */
  key: string;
}

const SCHEME = "s3://";
const URL = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9_.=/-]{0,1024}))?$/;

/** Returns the backup that an argument of a command names; undefined when it names a file. */
export function backupUrlOf(argument: string): BackupUrl | undefined {
  if (!argument.startsWith(SCHEME)) return undefined;
  const [, bucket, key = ""] = URL.exec(argument) ?? [];
  if (bucket === undefined || key.startsWith("/") || /(^|\/)\.{0,2}\/./.test(key)) {
    throw new StartError(
      `Expected s3://BUCKET/KEY, or s3://BUCKET/PREFIX/ for the newest backup, got ${argument}`,
    );
  }
  return { bucket, key };
}

export const urlText = ({ bucket, key }: BackupUrl) => `${SCHEME}${bucket}/${key}`;
