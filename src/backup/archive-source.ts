import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { StartError } from "../errors.ts";
import type { Config } from "../settings/keys.ts";
import { BACKUP_PART_BYTES } from "../settings/limits.ts";
import { parseBackupName } from "./backup-name.ts";
import { type BackupUrl, backupUrlOf, urlText } from "./bucket/backup-url.ts";
import { type Bucket, openBucket } from "./bucket/bucket.ts";

/** A backup that a command reads, from a file or from a bucket. */
export interface ArchiveSource {
  /** Path or URL of the backup, for messages. */
  name: string;
  read(): AsyncIterable<Uint8Array>;
  close(): void;
}

/** Opens the backup that an argument of a command names: a file, or an object in a bucket. */
export async function archiveSource(config: Config, argument: string): Promise<ArchiveSource> {
  const url = backupUrlOf(argument);
  return url === undefined ? fileSource(argument) : objectSource(config, url);
}

export function fileSource(argument: string): ArchiveSource {
  const path = resolve(argument);
  return { name: path, read: () => createReadStream(path), close() {} };
}

async function objectSource(config: Config, url: BackupUrl): Promise<ArchiveSource> {
  using stack = new DisposableStack();
  const bucket = stack.adopt(openBucket(config, url.bucket), (it) => it.close());
  const isFolder = url.key === "" || url.key.endsWith("/");
  const key = isFolder ? await newestKey(bucket, url) : url.key;
  const name = urlText({ bucket: url.bucket, key });
  // The caller closes the bucket.
  stack.move();
  return { name, read: () => readObject(bucket, key), close: () => bucket.close() };
}

/** Returns the key of the newest backup with the prefix `url.key`. Throws `StartError` if none. */
async function newestKey(bucket: Bucket, url: BackupUrl): Promise<string> {
  const objects = await bucket.list(`${url.key}pixelmill-`);
  const backups = objects.flatMap(({ key }) => {
    const at = parseBackupName(key.slice(url.key.length))?.at;
    return at === undefined ? [] : [{ key, at }];
  });
  backups.sort((one, other) => other.at - one.at);
  if (backups[0] !== undefined) return backups[0].key;
  throw new StartError(`Expected a backup pixelmill-TIME.tar.zst below ${urlText(url)}, got none`);
}

/**
 * Reads an object part by part, so that only one part is in memory. Fails if the object is replaced
 * before its last part is read.
 */
export async function* readObject(bucket: Bucket, key: string): AsyncGenerator<Uint8Array> {
  const about = { purpose: `read ${key}`, permission: "s3:GetObject", key };
  const { headers } = await bucket.send({ ...about, method: "HEAD" });
  const size = Number(headers["content-length"]);
  const tag = headers.etag;
  for (let at = 0; at < size; at += BACKUP_PART_BYTES) {
    const end = Math.min(at + BACKUP_PART_BYTES, size);
    const { body } = await bucket.send({
      ...about,
      method: "GET",
      headers: { range: `bytes=${at}-${end - 1}`, ...(tag !== undefined && { "if-match": tag }) },
      answerBytesMax: BACKUP_PART_BYTES,
    });
    if (body.length !== end - at) {
      throw new StartError(
        `Cannot read ${key}: expected ${end - at} bytes from ${at} on, got ${body.length}`,
      );
    }
    yield body;
  }
}
