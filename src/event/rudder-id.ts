import { markVersion4, uuidText } from "./uuid.ts";

/**
 * Computes the `rudderId` of a user as rudder-server does: the MD5 hash of `userId:anonymousId`,
 * formatted as a version 4 UUID.
 */
export function rudderId(userId: string, anonymousId: string): string {
  return uuidText(markVersion4(Bun.CryptoHasher.hash("md5", `${userId}:${anonymousId}`)));
}
