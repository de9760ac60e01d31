import { type FileHandle, open } from "node:fs/promises";
import { StartError } from "../../errors.ts";
import { BACKUP_PART_BYTES, BACKUP_PARTS_MAX } from "../../settings/limits.ts";
import type { Bucket } from "./bucket.ts";
import { textOf } from "./listing.ts";

const CONTENT_TYPE = "application/zstd";
const permission = "s3:PutObject";

/**
 * Sends a file to a bucket. Sends a large file in parts, so that only one part is in memory. No
 * other request sees the object before it is complete.
 */
export async function upload(bucket: Bucket, path: string, key: string): Promise<void> {
  await using file = await open(path);
  const { size } = await file.stat();
  const purpose = `write ${key}`;
  if (size <= BACKUP_PART_BYTES) {
    const body = await readPart(file, 0, size);
    const contentType = CONTENT_TYPE;
    await bucket.send({ purpose, permission, method: "PUT", key, body, contentType });
  } else await inParts(bucket, file, size, key);
}

async function inParts(bucket: Bucket, file: FileHandle, size: number, key: string) {
  const begun = { purpose: `write ${key}`, permission, key };
  const answer = await bucket.send({
    ...begun,
    method: "POST",
    query: new URLSearchParams({ uploads: "" }),
    contentType: CONTENT_TYPE,
  });
  const uploadId = textOf(Buffer.from(answer.body).toString("utf8"), "UploadId");
  if (uploadId === undefined) {
    throw new StartError(`Cannot write ${key}: the store begins an upload without an UploadId`);
  }
  try {
    const partBytes = partBytesOf(size);
    const tags: string[] = [];
    for (let at = 0; at < size; at += partBytes) {
      const body = await readPart(file, at, Math.min(partBytes, size - at));
      const query = new URLSearchParams({ partNumber: String(tags.length + 1), uploadId });
      const { headers } = await bucket.send({ ...begun, method: "PUT", query, body });
      tags.push(headers.etag ?? "");
    }
    const { body } = await bucket.send({
      ...begun,
      method: "POST",
      query: new URLSearchParams({ uploadId }),
      body: Buffer.from(completion(tags)),
    });
    // Stores answer 200 before they join the parts, and report a failure in the body.
    const text = Buffer.from(body).toString("utf8");
    const code = textOf(text, "Code");
    if (text.includes("<Error>")) {
      throw new StartError(`Cannot write ${key}: the store failed at the end (${code})`);
    }
  } catch (error) {
    // The parts take space until the upload is aborted; the next backup aborts uploads that remain.
    const query = new URLSearchParams({ uploadId });
    await bucket.send({ ...begun, method: "DELETE", query }).catch(() => {});
    throw error;
  }
}

/**
 * Returns the size of the parts in which a file of `size` bytes is sent. The last part may be
 * smaller.
 */
export function partBytesOf(size: number): number {
  return Math.max(BACKUP_PART_BYTES, Math.ceil(size / BACKUP_PARTS_MAX));
}

async function readPart(file: FileHandle, position: number, bytes: number): Promise<Uint8Array> {
  const part = Buffer.allocUnsafe(bytes);
  for (let done = 0; done < bytes; ) {
    const { bytesRead } = await file.read(part, done, bytes - done, position + done);
    if (bytesRead === 0) throw new StartError("The backup has become shorter while it was sent");
    done += bytesRead;
  }
  return part;
}

function completion(tags: readonly string[]): string {
  const escaped = (text: string) =>
    text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const parts = tags.map(
    (tag, index) =>
      `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escaped(tag)}</ETag></Part>`,
  );
  return `<CompleteMultipartUpload>${parts.join("")}</CompleteMultipartUpload>`;
}
