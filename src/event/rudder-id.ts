import { markVersion4, uuidText } from "./uuid.ts";

/** The rudderId of rudder-server: MD5 of `userId:anonymousId`, marked as a version 4 UUID. */
export function rudderId(userId: string, anonymousId: string): string {
  return uuidText(markVersion4(Bun.CryptoHasher.hash("md5", `${userId}:${anonymousId}`)));
}
