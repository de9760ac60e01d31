import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { syncPath } from "../disk/sync.ts";
import { temporaryDirectory } from "../disk/temporary-directory.ts";
import { messageOf, StartError } from "../errors.ts";
import {
  catalogDirectory,
  deliveryDirectory,
  eventsDirectory,
  formatFile,
} from "../first-start/data-directory.ts";
import { withoutTrimming } from "../log/lock.ts";
import type { Config } from "../settings/keys.ts";
import { openEnvironment } from "../store/lmdb/environment.ts";
import { fileEntry, logEntries, pack } from "./archive.ts";
import { fileSource } from "./archive-source.ts";
import { type BackupUrl, backupUrlOf, urlText } from "./bucket/backup-url.ts";
import { openBucket } from "./bucket/bucket.ts";
import { upload } from "./bucket/upload.ts";
import { type BackupContents, verify } from "./verify.ts";

/**
 * Pattern of the name of the temporary directory for a backup before its upload. The capture group
 * is the id of the process that makes the backup.
 */
const STAGING = /^pixelmill-backup-(\d+)-\w+$/;

/** Contents of a new backup, and the size of its file. */
type MadeBackup = BackupContents & { bytes: number };

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

/**
 * Maximum milliseconds that a backup waits for the server to finish deleting old segments (files)
 * of a log. After this time, the backup fails.
 */
const TRIMMING_MS_MAX = 60_000;

/**
 * Copies a data directory into one new file, even while a server uses it, and verifies the file.
 * Copies the event logs last, because they must contain every event to which the delivery positions
 * and the catalog refer. Throws `StartError` on failure.
 */
async function backup(config: Config, path: string): Promise<MadeBackup> {
  const target = resolve(path);
  if (existsSync(target)) throw new StartError(`Expected a new file, but ${target} exists`);
  const staging = join(dirname(target), `.${basename(target)}.${process.pid}`);
  const partial = join(staging, "archive");
  try {
    mkdirSync(staging, { mode: 0o700 });
    await copy(config, staging, partial);
    const contents = await verify(fileSource(partial), join(staging, "verified"));
    renameSync(partial, target);
    syncPath(dirname(target));
    return { ...contents, bytes: statSync(target).size };
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`Cannot make the backup ${target}: ${messageOf(error)}`);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

async function copy(config: Config, staging: string, archive: string): Promise<void> {
  const logs = logsOf(eventsDirectory(config));
  await using held = new AsyncDisposableStack();
  for (const { directory } of logs) {
    held.defer(await withoutTrimming(directory, TRIMMING_MS_MAX));
  }
  const delivery = join(staging, "delivery");
  mkdirSync(delivery);
  await snapshot(deliveryDirectory(config), delivery);
  const catalog = join(staging, "catalog.mdb");
  await snapshot(join(catalogDirectory(config), "catalog.mdb"), catalog);
  await pack(archive, [
    fileEntry(formatFile(config), "format"),
    fileEntry(catalog, "catalog/catalog.mdb"),
    fileEntry(join(delivery, "data.mdb"), "delivery/data.mdb"),
    ...logs.flatMap(({ name, directory }) => logEntries(directory, name)),
  ]);
}

/** Copies an LMDB environment as it is at one moment, and leaves out its unused pages. */
async function snapshot(path: string, target: string): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const { root } = openEnvironment(path, []);
  stack.defer(() => root.close());
  await root.backup(target, true);
}

function logsOf(directory: string): { name: string; directory: string }[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ name, directory: join(directory, name) }));
}
