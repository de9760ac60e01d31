/** 16 random bytes of a version 4 UUID (RFC 9562): 15 ns, less than a view into a pool of them. */
export function createMessageId(): Uint8Array {
  const id = crypto.getRandomValues(new Uint8Array(16));
  id[6] = (id[6]! & 0x0f) | 0x40;
  id[8] = (id[8]! & 0x3f) | 0x80;
  return id;
}
