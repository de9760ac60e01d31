import { markVersion4, uuidText } from "./uuid.ts";

const latest = { userId: "", anonymousId: "", id: hashed("", "") };

/**
 * Computes the `rudderId` of a user as rudder-server does: the MD5 hash of `userId:anonymousId`,
 * formatted as a version 4 UUID. The events of a batch mostly have one user, so the last id is
 * cached.
 */
export function rudderId(userId: string, anonymousId: string): string {
  if (latest.userId !== userId || latest.anonymousId !== anonymousId) {
    latest.userId = userId;
    latest.anonymousId = anonymousId;
    latest.id = hashed(userId, anonymousId);
  }
  return latest.id;
}

function hashed(userId: string, anonymousId: string): string {
  return uuidText(markVersion4(Bun.CryptoHasher.hash("md5", `${userId}:${anonymousId}`)));
}
