/**
 * Offset of a record's time of receipt (f64, little endian) in every version of the encoding. Every
 * executable therefore finds the time of later versions' records, and deletes none early.
 */
export const TIME_AT = 8;

/** Bytes of every record up to the end of its time. */
export const HEAD_BYTES = 16;

export function asBuffer(bytes: Uint8Array): Buffer {
  if (bytes instanceof Buffer) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Returns a copy of the messageId at `offset`. A loop over 16 bytes is faster than a view's copy. */
export function idAt(buffer: Uint8Array, offset: number): Uint8Array {
  const id = new Uint8Array(16);
  for (let i = 0; i < 16; i++) id[i] = buffer[offset + i]!;
  return id;
}

/** Returns a copy of the bytes between two offsets; `slice` of a Buffer would return a view. */
export function copyOf(buffer: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(end - start);
  buffer.copy(copy, 0, start, end);
  return copy;
}

/** Throws `RangeError` when a record has fewer bytes than its parts take. */
export function expectBytes(record: Uint8Array, least: number): void {
  if (record.length < least) {
    throw new RangeError(`Expected a record of at least ${least} bytes, got ${record.length}`);
  }
}

/** Whether a flag is set. */
export const has = (flags: number, flag: number): boolean => (flags & flag) !== 0;
