/** As rudder-server makes it: MD5 of `userId:anonymousId`, marked as a version 4 UUID. */
export function rudderId(userId: string, anonymousId: string): string {
  const hex = Bun.CryptoHasher.hash("md5", `${userId}:${anonymousId}`, "hex");
  const version = `4${hex.slice(13, 16)}`;
  const variant = "89ab"[Number.parseInt(hex[16]!, 16) & 3] + hex.slice(17, 20);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${version}-${variant}-${hex.slice(20)}`;
}
