import { StartError } from "../../errors.ts";

/** A backup in a bucket, from a URL such as `s3://BUCKET/KEY`. */
export interface BackupUrl {
  bucket: string;
  /**
   * Key of the backup's object, or a prefix: an empty key, or one that ends with a slash, stands
   * for the newest backup whose key begins with it.
   */
  key: string;
}

const SCHEME = "s3://";
const URL = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9_.=/-]{0,1024}))?$/;

/**
 * Returns the bucket and the key if a command's argument is an `s3://` URL. Undefined if the
 * argument is the path of a file.
 */
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
