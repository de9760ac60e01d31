const ID_BYTES = 16;
const IDS_PER_POOL = 256;

let pool = new Uint8Array(0);
let next = 0;

/** 16 random bytes of a version 4 UUID (RFC 9562). They stay valid: a used-up pool is left alone. */
export function createMessageId(): Uint8Array {
  if (next === pool.length) {
    pool = crypto.getRandomValues(new Uint8Array(ID_BYTES * IDS_PER_POOL));
    next = 0;
  }
  const id = pool.subarray(next, next + ID_BYTES);
  next += ID_BYTES;
  id[6] = (id[6]! & 0x0f) | 0x40;
  id[8] = (id[8]! & 0x3f) | 0x80;
  return id;
}
