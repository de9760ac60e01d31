import { existsSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { temporaryDirectory } from "../disk/temporary-directory.ts";
import { StartError } from "../errors.ts";
import type { Config } from "../settings/keys.ts";
import { backup, type MadeBackup } from "./backup.ts";
import { type BackupUrl, backupUrlOf, urlText } from "./bucket/backup-url.ts";
import { openBucket } from "./bucket/bucket.ts";
import { upload } from "./bucket/upload.ts";

/**
 * Pattern of the name of a temporary directory for a backup before its upload. The group is the id
 * of the process that makes the backup.
 */
const STAGING = /^pixelmill-backup-(\d+)-\w+$/;

/**
 * Copies a data directory to the place that a command's argument names: a file, or
 * `s3://BUCKET/KEY`.
 */
export async function backUpTo(config: Config, argument: string): Promise<MadeBackup> {
  const url = backupUrlOf(argument);
  return url === undefined ? backup(config, argument) : backUpToBucket(config, url);
}

/**
 * Copies a data directory into an object in a bucket: makes a backup file in the temporary
 * directory, reads it again as a check, and uploads it.
 */
async function backUpToBucket(config: Config, url: BackupUrl): Promise<MadeBackup> {
  if (url.key === "" || url.key.endsWith("/")) {
    throw new StartError(
      `Expected the key of a new object, as s3://BUCKET/KEY, got ${urlText(url)}`,
    );
  }
  using stack = new DisposableStack();
  const bucket = openBucket(config, url.bucket);
  stack.defer(() => bucket.close());
  removeStaging();
  using staging = temporaryDirectory(join(tmpdir(), `pixelmill-backup-${process.pid}-`));
  const [found] = await bucket.list(url.key);
  if (found?.key === url.key) {
    throw new StartError(`Expected a new object, but ${urlText(url)} exists`);
  }
  const path = join(staging.path, "backup");
  const contents = await backup(config, path);
  await upload(bucket, path, url.key);
  return contents;
}

/** Deletes the temporary directories of backups whose processes have ended. */
function removeStaging(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = STAGING.exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    try {
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
    } catch {
      // The directory belongs to another user.
    }
  }
}
