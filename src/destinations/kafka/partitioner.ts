const SEED = 0x9747b28c;
const FACTOR = 0x5bd1e995;

/**
 * Computes the partition of a key by the algorithm of Kafka's Java client, so that records with the
 * same key from both programs are in one partition. The client library's own hash takes quadratic
 * time.
 */
export function partitionOf(key: Buffer, count: number): number {
  return (murmur2(key) & 0x7fffffff) % count;
}

/** MurmurHash2, 32 bits. */
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
