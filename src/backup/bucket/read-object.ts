import { StartError } from "../../errors.ts";
import { BACKUP_PART_BYTES } from "../../settings/limits.ts";
import type { Bucket } from "./bucket.ts";

/**
 * Reads an object in parts, of which one is in memory at a time. All parts belong to the version of
 * the object that existed at the start.
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
