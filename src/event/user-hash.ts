import { bytes } from "./text/scratch.ts";

/**
 * The hash of whose event it is: of the userId, else the anonymousId, as JSON text in UTF-8. Where
 * records are kept by user, this hash decides where. So it must never change: FNV-1a, 32 bits wide,
 * whose bits are then mixed as MurmurHash3 does, since few ids differ in many of their bits.
 */
export function userHash(start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
