import { markVersion4, uuidText } from "./uuid.ts";

const latest = { userId: "", anonymousId: "", id: "" };

/**
 * Computes the `rudderId` of a user as rudder-server does: the MD5 hash of `userId:anonymousId`,
 * formatted as a version 4 UUID. The events of a batch mostly have one user, so the last id is
 * cached.
 */
export function rudderId(userId: string, anonymousId: string): string {
  if (latest.id === "" || latest.userId !== userId || latest.anonymousId !== anonymousId) {
    const hash = Bun.CryptoHasher.hash("md5", `${userId}:${anonymousId}`);
    latest.userId = userId;
    latest.anonymousId = anonymousId;
    latest.id = uuidText(markVersion4(hash));
  }
  return latest.id;
}
