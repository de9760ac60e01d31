/**
 * Hashes the id of a user: the userId, or the anonymousId when there is no userId. The id is given
 * as JSON text between two offsets of `bytes`. The hash chooses the partition that
 * stores the user's records, so it must never change. It is 32-bit FNV-1a, followed by the final
 * mixing steps of MurmurHash3, which spread ids that differ in few bits.
 */
export function userHash(bytes: Buffer, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
