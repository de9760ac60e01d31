import { createHash } from "node:crypto";

/** As rudder-server makes it: MD5 of `userId:anonymousId`, marked as a version 4 UUID. */
export function rudderId(userId: string, anonymousId: string): string {
  const digest = createHash("md5").update(`${userId}:${anonymousId}`).digest();
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x40;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  return digest.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
