const SEED = 0x9747b28c;
const FACTOR = 0x5bd1e995;

/**
 * Returns the partition of a key by the algorithm of Kafka's Java client, so that pixelmill and
 * Java producers write records with the same key to the same partition. The client library's own
 * hash takes quadratic time.
 */
export function partitionOf(key: Buffer, count: number): number {
  return (murmur2(key) & 0x7fffffff) % count;
}

/** Returns the 32-bit MurmurHash2 of a key. */
function murmur2(key: Buffer): number {
  const end = key.length & ~3;
  let hash = SEED ^ key.length;
  for (let at = 0; at < end; at += 4) {
    let word = Math.imul(key.readInt32LE(at), FACTOR);
    word = Math.imul(word ^ (word >>> 24), FACTOR);
    hash = Math.imul(hash, FACTOR) ^ word;
  }
  const rest = key.length - end;
  if (rest > 0) {
    for (let at = rest - 1; at >= 0; at--) hash ^= key[end + at]! << (8 * at);
    hash = Math.imul(hash, FACTOR);
  }
  hash = Math.imul(hash ^ (hash >>> 13), FACTOR);
  return hash ^ (hash >>> 15);
}
