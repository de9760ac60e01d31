import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { syncPath } from "../disk/sync.ts";
import { messageOf, orStartError, StartError } from "../errors.ts";
import { dataIdFile } from "../first-start/data-directory.ts";
import type { Logger } from "../observe/log.ts";
import { type Config, environmentName, type Key, keys } from "../settings/keys.ts";
import { type BackupFile, backupName, oldestFirst, parseBackupName } from "./backup-name.ts";
import { urlText } from "./bucket/backup-url.ts";
import { openBucket } from "./bucket/bucket.ts";
import { bucketConfig } from "./bucket/bucket-config.ts";

/** Place where a server stores its regular backups: a directory, or a bucket. */
export interface BackupTarget {
  /** Environment variables for the process that makes a backup: the bucket's settings, if any. */
  environment: Record<string, string>;
  /**
   * Returns the argument of `pixelmill backup`, a path or an `s3://` URL, for a backup that begins
   * at the time `at` (milliseconds since the epoch).
   */
  placeOf(at: number): string;
  /** Lists the regular backups of this server, oldest first. */
  list(): Promise<BackupFile[]>;
  remove(backup: BackupFile): Promise<void>;
  /** Removes unfinished files or uploads of backup processes that have ended. */
  removeLeftovers(): Promise<void>;
  close(): void;
}

/**
 * Throws a `StartError` if the settings demand regular backups that cannot be made. These need a
 * standalone server, and exactly one valid place in the settings: a directory or a bucket.
 */
export function expectBackupSettings(config: Config): void {
  const { "backup.directory": directory, "backup.s3.bucket": bucket } = config;
  if (config["backup.every"] === 0) return;
  if (config["cluster.kafka"].length > 0) {
    throw new StartError("Expected no backup.every on a node: the topics have the cluster's data");
  }
  if (directory !== undefined && bucket !== undefined) {
    throw new StartError("Expected one of backup.directory and backup.s3.bucket, got both");
  }
  if (bucket !== undefined) bucketConfig(config, bucket);
  else if (directory === undefined) {
    throw new StartError(
      "Expected the setting backup.directory or backup.s3.bucket beside backup.every",
    );
  }
}

/**
 * Returns the `BackupTarget` for the place that the settings name. `expectBackupSettings` must have
 * accepted the settings before.
 */
export function backupTarget(config: Config, logger: Logger): BackupTarget {
  const bucket = config["backup.s3.bucket"];
  if (bucket !== undefined) return inBucket(config, bucket, logger);
  return inDirectory(resolve(config["backup.directory"]!));
}

function inDirectory(directory: string): BackupTarget {
  orStartError(`Cannot use backup.directory ${directory}`, () => {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    removeLeftovers(directory);
  });
  return {
    environment: {},
    placeOf: (at) => join(directory, backupName(at)),
    list: async () => listBackups(directory),
    remove: async ({ path }) => rmSync(path, { force: true }),
    removeLeftovers: async () => removeLeftovers(directory),
    close() {},
  };
}

function inBucket(config: Config, name: string, logger: Logger): BackupTarget {
  const { endpoint } = bucketConfig(config, name);
  if (endpoint?.startsWith("http:")) {
    logger.warn({ endpoint }, "backups go over HTTP: secrets in them can be read on the way");
  }
  const dataId = dataIdOf(config);
  const ending = new AbortController();
  const bucket = openBucket(config, name, ending.signal);
  const start = `${bucket.prefix}pixelmill-`;
  const parsed = (key: string) => parseBackupName(key.slice(bucket.prefix.length));
  return {
    environment: bucketEnvironment(config),
    placeOf: (at) => urlText({ bucket: name, key: bucket.prefix + backupName(at, dataId) }),
    async list() {
      const objects = await bucket.list(start);
      const own = objects.flatMap(({ key, bytes }): BackupFile[] => {
        const found = parsed(key);
        return found?.dataId === dataId ? [{ path: key, at: found.at, bytes }] : [];
      });
      return own.sort(oldestFirst);
    },
    remove: ({ path }) => bucket.remove(path),
    removeLeftovers: () => bucket.abortUploads(start, (key) => parsed(key)?.dataId === dataId),
    close() {
      ending.abort();
      bucket.close();
    },
  };
}

/**
 * Returns the settings that give access to the bucket, as environment variables for another
 * process. Leaves out settings without a value. The path of a file becomes absolute, because the
 * other process has another working directory.
 */
function bucketEnvironment(config: Config): Record<string, string> {
  const isPassed = (key: Key) => key.startsWith("backup.s3.") || key === "egress.resolver";
  const textOf = (key: Key) => (key === "backup.s3.ca" ? resolve(config[key]!) : `${config[key]}`);
  return Object.fromEntries(
    keys
      .filter((key) => isPassed(key) && config[key] !== undefined)
      .map((key) => [environmentName(key), textOf(key)]),
  );
}

/**
 * Returns the id of the data directory, which the first call creates. Backups do not contain the
 * id, so that a server with restored data gets another one and does not delete the original
 * server's backups.
 */
function dataIdOf(config: Config): string {
  const path = dataIdFile(config);
  try {
    if (existsSync(path)) return readFileSync(path, "utf8").trim();
    const id = Buffer.from(crypto.getRandomValues(new Uint8Array(6))).toString("hex");
    const part = `${path}.part`;
    writeFileSync(part, `${id}\n`, { flush: true });
    renameSync(part, path);
    syncPath(resolve(config.data));
    return id;
  } catch (error) {
    throw new StartError(`Cannot use the file ${path}: ${messageOf(error)}`);
  }
}

/**
 * Pattern of the name of the directory in which a backup file is being made. The capture group is
 * the id of the process that makes the backup.
 */
const STAGING = /^\.pixelmill-[\dTZ-]+\.tar\.zst\.(\d+)$/;

/** Lists the backups in a directory, oldest first. Ignores other files. */
function listBackups(directory: string): BackupFile[] {
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
