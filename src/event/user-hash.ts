/**
 * Hashes a user's id, the JSON text between two offsets (32-bit FNV-1a, then the final mixing of
 * MurmurHash3). The hash must never change, because it chooses the partition that stores the user's
 * records.
 */
export function userHash(bytes: Buffer, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
